/** Every exit code of the command line, with what a script may conclude from it. The reference page is made from this table. */
export const exitCodes = [
  { code: 0, name: 'ok', doc: 'It was done. With --wait or --progress: and every task SUCCEEDED.' },
  {
    code: 1,
    name: 'failed',
    doc: 'It could not be done; or, with --wait or --progress, a task ended otherwise than SUCCEEDED, or not within the limit.',
  },
  {
    code: 2,
    name: 'usage',
    doc: 'An argument, an option, a setting or an input file is wrong. Nothing was sent, or the server refused it as invalid.',
  },
  { code: 3, name: 'unreachable', doc: 'No server answers at the address.' },
  { code: 4, name: 'not_found', doc: 'There is no such task, workflow, recurring task, queue, worker or key.' },
  {
    code: 5,
    name: 'conflict',
    doc: 'Not possible in the state the task is in; or a name is taken, or the idempotency key belongs to another request.',
  },
  {
    code: 6,
    name: 'try_later',
    doc: 'The server refuses for now: store unavailable, queue full, rate exceeded, shutting down.',
  },
  { code: 7, name: 'denied', doc: 'The API key is missing, wrong, or not allowed to do this.' },
  { code: 8, name: 'partly', doc: 'A crontab was imported, but for the lines that were refused.' },
  {
    code: 130,
    name: 'interrupted',
    doc: 'Ended at once by a signal; for what runs until it is stopped, by the second one (143 if that was SIGTERM).',
  },
] as const

export type ExitName = (typeof exitCodes)[number]['name']
export type ExitCode = (typeof exitCodes)[number]['code']

/** The number of a named exit. */
export function exitCode(name: ExitName): ExitCode {
  const entry = exitCodes.find((candidate) => candidate.name === name)
  if (!entry) throw new RangeError(`no exit code is named ${name}`)
  return entry.code
}

/** The exit code that fits an HTTP status of a refused request. */
export function exitForStatus(status: number): ExitName {
  if (status === 404) return 'not_found'
  if (status === 409) return 'conflict'
  if (status === 401 || status === 403) return 'denied'
  if (status === 429 || status === 503) return 'try_later'
  return status >= 400 && status < 500 ? 'usage' : 'failed'
}
