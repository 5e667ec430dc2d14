import type { FieldError } from '@duly/sdk'
import type { Command } from 'commander'

/** The options and arguments of the command that ran: what its user can have written. */
export type Written = Pick<Command, 'options' | 'registeredArguments'>

/** An error of a field, with the flag or argument that the field was written as; null: none is. */
export interface WrittenError extends FieldError {
  readonly option: string | null
}

/** Units and kinds that a field of the API has in its name, and a flag may have not: `timeout_seconds` is `--timeout`,
 * `overlap_policy` is `--overlap`. */
const ENDINGS = /_(?:seconds|at|id|policy)$/

/**
 * The flag (`--max-retries`) or argument (`<id>`) that states a field of the API on this command line; undefined when it has none.
 * Flags are called as the fields are, so that this needs no table.
 * @param path of the field, e.g. `max_retries`, `metadata.tenant_id`, `tags[0]`
 */
export function flagOfField(path: string, written: Written): string | undefined {
  const [head = '', ...inside] = path.split(/[.[]/)
  // Some members of the metadata, and those of a filter, have flags of their own.
  const own = inside.length === 1 && inside[0] !== undefined ? flagNamed(inside[0], written) : undefined
  if ((head === 'metadata' || head === 'filter') && own !== undefined) return own
  const flag = flagNamed(head, written) ?? argumentNamed(head, written)
  const rest = path.slice(head.length).replace(/^\./, '')
  return flag === undefined || rest === '' ? flag : `${flag} (${rest})`
}

function flagNamed(field: string, { options }: Written): string | undefined {
  const names = [field, field.replace(ENDINGS, '')].map((name) => `--${name.replaceAll('_', '-')}`)
  return names.find((name) => options.some(({ long }) => long === name))
}

/** `task_id` is the `<id>` of a command on one task. */
function argumentNamed(field: string, { registeredArguments }: Written): string | undefined {
  const found = registeredArguments.find((argument) => `_${field}`.endsWith(`_${argument.name()}`))
  return found && `<${found.name()}>`
}

/** A sentence of the server with the names of fields as they are written on this command line. */
export function inFlags(text: string, written: Written): string {
  return text.replace(/\b(?:metadata\.)?[a-z]+(?:_[a-z]+)+\b/g, (word) => flagOfField(word, written) ?? word)
}

export function writtenError({ path, message }: FieldError, written: Written): WrittenError {
  return { path, option: flagOfField(path, written) ?? null, message: inFlags(message, written) }
}
