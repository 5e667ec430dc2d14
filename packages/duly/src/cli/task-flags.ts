import { RawJson, rawJson } from '@duly/sdk'
import type { Command } from 'commander'
import { CliError } from './cli-error.js'
import { isObject, type Json, readJson } from './json-input.js'
import { parseSeconds } from './seconds.js'
import type { TaskField } from './task-fields.js'
import type { FileTask } from './task-file.js'
import type { Terminal } from './terminal.js'

/** What commander read of a payload and of the fields of a task. */
export interface TaskFlags {
  readonly payload?: string
  readonly tenant?: string
  readonly correlationId?: string
  readonly [flag: string]: unknown
}

/** Adds a flag for each field. */
export function withFields(command: Command, fields: readonly TaskField[]): Command {
  for (const field of fields) command.option(`${field.flag} <${field.argument}>`, field.help)
  return command
}

/** The flags that were given for these fields. */
export function givenFlags(fields: readonly TaskField[], flags: TaskFlags): readonly string[] {
  return fields.filter((field) => flags[optionName(field)] !== undefined).map((field) => field.flag)
}

/**
 * The members of a task's body that the flags state.
 * @throws CliError for a value that no such flag can have
 */
export async function taskFromFlags(
  fields: readonly TaskField[],
  flags: TaskFlags,
  terminal: Terminal,
): Promise<FileTask> {
  const task: Record<string, Json | RawJson> = {}
  if (flags.payload !== undefined) task.payload = await readJson('--payload', flags.payload, terminal)
  for (const field of fields) {
    const text = flags[optionName(field)]
    if (text !== undefined)
      task[field.key] =
        field.kind === 'json' ? await readObject(field.flag, String(text), terminal) : flagValue(field, text)
  }
  const { tenant, correlationId } = flags
  const named = {
    ...(tenant === undefined ? {} : { tenant_id: tenant }),
    ...(correlationId === undefined ? {} : { correlation_id: correlationId }),
  }
  return Object.keys(named).length === 0 ? task : { ...task, metadata: withMembers(task.metadata, named) }
}

/**
 * Reads a JSON argument that must be an object.
 * @param option its name in messages, e.g. `--metadata`
 */
async function readObject(option: string, argument: string, terminal: Terminal): Promise<RawJson> {
  const raw = await readJson(option, argument, terminal)
  if (isObject(raw.value as Json)) return raw
  throw new CliError('usage', `${option} must be an object`, `E.g. ${option} '{"correlation_id":"order-7"}'.`)
}

/** An object with more members, in place of its own of that name; the others as they were written. */
function withMembers(given: Json | RawJson | undefined, named: Readonly<Record<string, string>>): RawJson {
  const own = given instanceof RawJson ? given.members().filter(([key]) => !Object.hasOwn(named, key)) : []
  const texts = [
    ...own.map(([key, { text }]) => [key, text] as const),
    ...Object.entries(named).map(([key, value]) => [key, JSON.stringify(value)] as const),
  ]
  return rawJson(`{${texts.map(([key, text]) => `${JSON.stringify(key)}:${text}`).join(',')}}`)
}

function flagValue(field: TaskField, text: unknown): Json {
  if (Array.isArray(text)) return text.map(String)
  if (field.kind === 'seconds') return parseSeconds(String(text), field.flag)
  if (field.kind !== 'integer') return String(text)
  if (!/^\d+$/.test(String(text)))
    throw new CliError('usage', `${field.flag} must be a whole number, not "${String(text)}"`)
  return Number(text)
}

/** Commander's name of a flag: `--max-retries` is `maxRetries`. */
function optionName(field: TaskField): string {
  return field.flag.slice(2).replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
