import { CliError } from './cli-error.js'
import { isObject, type Json } from './json-input.js'
import { problemOfKey } from './task-fields.js'

/** One task of a file: the body of a submission, as the API takes it. */
export type FileTask = { readonly [key: string]: Json }

const SHOWN_PROBLEMS = 10

/**
 * Parses a file with one task a line (JSON Lines; blank lines are allowed). Only the form is checked here: what a task may
 * hold is the server's to judge, before it accepts anything of a batch.
 * @throws CliError that lists the first wrong lines with their numbers
 */
export function parseTaskFile(path: string, text: string): readonly FileTask[] {
  const problems: string[] = []
  const tasks: FileTask[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const parsed = parseLine(line)
    if (typeof parsed === 'string') problems.push(`${path}:${index + 1}: ${parsed}`)
    else tasks.push(parsed)
  }
  if (problems.length > 0)
    throw new CliError('usage', describe(problems), 'Write one JSON object a line. Nothing was submitted.')
  if (tasks.length === 0)
    throw new CliError(
      'usage',
      `${path} holds no tasks`,
      'Write one JSON object a line, e.g. {"task_type":"send_email"}.',
    )
  return tasks
}

/** The task, or what is wrong with the line. */
function parseLine(line: string): FileTask | string {
  let value: Json
  try {
    value = JSON.parse(line)
  } catch (error) {
    return `not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
  if (!isObject(value)) return 'not an object'
  if (value.task_type === undefined) return 'has no "task_type"'
  const wrong = Object.entries(value).flatMap(([key, field]) => problemOfKey(key, field) ?? [])
  return wrong.length === 0 ? value : wrong.join(', ')
}

function describe(problems: readonly string[]): string {
  const rest = problems.length - SHOWN_PROBLEMS
  return [...problems.slice(0, SHOWN_PROBLEMS), ...(rest > 0 ? [`… and ${rest} more`] : [])].join('\n')
}

/** Cuts a list into pieces of at most `size`. */
export function inBatches<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
