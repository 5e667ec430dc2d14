import { type RawJson, rawJson } from '@duly/sdk'
import { CliError } from './cli-error.js'
import { isObject, type Json } from './json-input.js'
import { problemOfKey } from './task-fields.js'

/** One task of a file: the body of a submission, as the API takes it; payload and metadata as they were written. */
export type FileTask = { readonly [key: string]: Json | RawJson }

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
    throw new CliError('usage', inLines(problems), 'Write one JSON object a line. Nothing was submitted.')
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
  let raw: RawJson
  try {
    raw = rawJson(line)
  } catch (error) {
    return `not JSON: ${error instanceof Error ? error.message : String(error)}`
  }
  const value = raw.value as Json
  if (!isObject(value)) return 'not an object'
  if (value.task_type === undefined) return 'has no "task_type"'
  const wrong = [
    ...repeatedKeys(raw),
    ...Object.entries(value).flatMap(([key, field]) => problemOfKey(key, field) ?? []),
  ]
  if (wrong.length > 0) return wrong.join(', ')
  return { ...value, ...rawMember(raw, 'payload'), ...(isRawObject(raw, 'metadata') ? rawMember(raw, 'metadata') : {}) }
}

function rawMember(raw: RawJson, key: string): FileTask {
  const member = raw.member(key)
  return member === undefined ? {} : { [key]: member }
}

/** Null stands for none, and anything else is the server's to refuse. */
function isRawObject(raw: RawJson, key: string): boolean {
  return raw.member(key)?.text.startsWith('{') === true
}

/** Of a repeated key JSON.parse would take the last; the server refuses it, and so do we. */
function repeatedKeys(raw: RawJson): readonly string[] {
  const keys = raw.members().map(([key]) => key)
  const repeated = new Set(keys.filter((key, index) => keys.indexOf(key) !== index))
  return [...repeated].map((key) => `key "${key}" more than once`)
}

/** The first problems, a line each, and how many more there are. */
export function inLines(problems: readonly string[]): string {
  const rest = problems.length - SHOWN_PROBLEMS
  return [...problems.slice(0, SHOWN_PROBLEMS), ...(rest > 0 ? [`… and ${rest} more`] : [])].join('\n')
}

/** Cuts a list into pieces of at most `size`. */
export function inBatches<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
