import type { ExitName } from './exit-codes.js'

/** A failure worded for the person at the terminal: what was wrong and, in `remedy`, what to do. */
export class CliError extends Error {
  override readonly name = 'CliError'

  constructor(
    readonly exit: ExitName,
    message: string,
    readonly remedy?: string,
  ) {
    super(message)
  }
}
