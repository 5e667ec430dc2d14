import { DulyError } from '@duly/domain'
import { DulyApiError, DulyConnectionError, TaskFailedError } from '@duly/sdk'
import { CliError } from './cli-error.js'
import { type ExitName, exitCode, exitForStatus } from './exit-codes.js'
import { inFlags, type Written, type WrittenError, writtenError } from './flag-names.js'
import { inLines } from './task-file.js'

/** What is told of a failure, and how the process ends. */
export interface Failure {
  readonly exit: ExitName
  readonly message: string
  readonly remedy?: string | undefined
  /** The server's stable code, where it answered. */
  readonly code?: string
  /** The fields that the server refused. */
  readonly errors?: readonly WrittenError[]
}

/** Nothing that fields are written as: they keep their names, as in a file of tasks. */
const NOT_WRITTEN: Written = { options: [], registeredArguments: [] }

/** Finds the words and the exit code for whatever a command threw; fields are called as they are written for it. */
export function explainFailure(error: unknown, written: Written = NOT_WRITTEN): Failure {
  if (error instanceof CliError) return { exit: error.exit, message: error.message, remedy: error.remedy }
  if (error instanceof DulyConnectionError) return explainConnection(error)
  if (error instanceof DulyApiError) return explainRefusal(error, written)
  if (error instanceof TaskFailedError) return { exit: 'failed', message: error.message }
  if (error instanceof DulyError) return { exit: exitForStatus(error.status), message: error.message, code: error.code }
  if (error instanceof RangeError) return { exit: 'usage', message: error.message }
  if (isAddressInUse(error)) return { exit: 'failed', message: error.message, remedy: PORT_REMEDY }
  if (isDatabaseAway(error)) return explainDatabase(error)
  if (isTurnedAway(error)) return { exit: 'failed', message: error.message, remedy: DATABASE_REMEDY }
  return { exit: 'failed', message: error instanceof Error ? error.message : String(error) }
}

/** Only the driver of the database throws these as they are: the client for the API has errors of its own. */
function isDatabaseAway(error: unknown): error is NodeJS.ErrnoException {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(?:ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH)$/.test(code)
}

/** PostgreSQL answered, and refused the role, its password or the name of the database. */
function isTurnedAway(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^(?:28000|28P01|3D000)$/.test(String(error.code))
}

const DATABASE_REMEDY =
  'The database and its role are made beforehand; their address is --database-url or DULY_DATABASE_URL, postgres://role:password@host:5432/database.'

function explainDatabase({ message, code = '' }: NodeJS.ErrnoException): Failure {
  return {
    exit: 'failed',
    // where each address of a name refused, the error has a code but no words
    message: `the database cannot be reached: ${message || code}`,
    remedy: 'Is PostgreSQL running there? Its address is --database-url or DULY_DATABASE_URL.',
  }
}

const PORT_REMEDY =
  'Another program, or another Duly, listens there: choose another port with --port or DULY_PORT (0: any free one).'

function isAddressInUse(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
}

function explainConnection(error: DulyConnectionError): Failure {
  const remedy = error.mayHaveArrived
    ? 'The server may have acted on it all the same: look before you repeat it, or use an --idempotency-key.'
    : 'Start one with `npx duly dev`, or name the right address with --url or DULY_URL.'
  return { exit: 'unreachable', message: `no answer from ${error.message}`, remedy, code: error.code }
}

const KEY_REMEDY =
  'Put a live key into DULY_API_KEY (or --api-key). Whoever has the database can make one: `duly key create --help`.'

const REPLACE_REMEDY = 'With --replace, the definition of that name is replaced by this one.'

/** A sentence for each field: the server's own names only the first one in its detail, and all of them by its own names. */
function wordsOf(error: DulyApiError, errors: readonly WrittenError[], written: Written): string {
  if (error.status !== 400 || errors.length === 0) return inFlags(error.message, written)
  return inLines(errors.map(({ option, path, message }) => `${option ?? path} ${message}`))
}

function explainRefusal(error: DulyApiError, written: Written): Failure {
  const errors = error.errors.map((entry) => writtenError(entry, written))
  const request = error.requestId === null ? '' : ` (request ${error.requestId})`
  const wait = error.retryAfterMs === null ? undefined : `Try again in ${Math.ceil(error.retryAfterMs / 1_000)} s.`
  const canReplace = error.code === 'name_taken' && written.options.some(({ long }) => long === '--replace')
  const remedy = error.status === 401 ? KEY_REMEDY : canReplace ? REPLACE_REMEDY : wait
  const message = `${wordsOf(error, errors, written)}${request}`
  return { exit: exitForStatus(error.status), message, remedy, code: error.code, ...(errors.length > 0 && { errors }) }
}

/** The failure as text for a person, or as one JSON line for a program. */
export function renderFailure(failure: Failure, asJson: boolean): string {
  const { exit, message, remedy, code, errors } = failure
  if (asJson)
    return `${JSON.stringify({ error: { exit_code: exitCode(exit), exit, code, message, remedy, errors } })}\n`
  return `duly: ${message}\n${remedy === undefined ? '' : `${remedy}\n`}`
}
