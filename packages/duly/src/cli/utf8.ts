import { CliError } from './cli-error.js'

/**
 * The text of an input, without a byte order mark.
 * @param source what it is in messages
 * @throws CliError for what is no UTF-8: a command with other signs in place of its letters would be another command
 */
export function textOf(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CliError('usage', `${source} is not UTF-8 text`, 'If it is Latin-1: iconv -f latin1 -t utf-8')
  }
}
