import { readFile } from 'node:fs/promises'
import { type RawJson, rawJson } from '@duly/sdk'
import { CliError } from './cli-error.js'
import type { Terminal } from './terminal.js'
import { textOf } from './utf8.js'

/** Any value that JSON can state. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/**
 * Reads a JSON argument: the text itself, `@file`, or `-` for the standard input. Its text is kept: a payload goes out as it
 * was written.
 * @param option its name in messages, e.g. `--payload`
 */
export async function readJson(option: string, argument: string, terminal: Terminal): Promise<RawJson> {
  const text = await readSource(option, argument, terminal)
  try {
    return rawJson(text)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new CliError('usage', `${placeOf(option, argument)} is not JSON: ${why}`, adviceFor(option, argument))
  }
}

function placeOf(option: string, argument: string): string {
  if (argument === '-') return `${option}: the standard input`
  return argument.startsWith('@') ? `${option}: the file ${argument.slice(1)}` : option
}

function adviceFor(option: string, argument: string): string | undefined {
  if (argument === '-' || argument.startsWith('@')) return undefined
  return `Quote it for the shell: ${option} '{"to":"a@example.com"}', or give a file: ${option} @payload.json`
}

async function readSource(option: string, argument: string, terminal: Terminal): Promise<string> {
  if (argument === '-') return terminal.readStdin()
  if (!argument.startsWith('@')) return argument
  return readInputFile(option, argument.slice(1))
}

/** A text file that an option named. */
export async function readInputFile(option: string, path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const why = code === 'ENOENT' ? 'does not exist' : `can't be read (${String(code ?? error)})`
    throw new CliError(
      'usage',
      `${option}: the file ${path} ${why}`,
      'Give the path from the current folder, or the full path.',
    )
  })
  return textOf(bytes, `${option}: the file ${path}`)
}

/** Is it an object with keys, as a task of a file must be? */
export function isObject(value: Json): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
