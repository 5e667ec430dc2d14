import { DulyError } from '@duly/domain'

/** What an error of the database means for whoever called. */
export type FaultKind =
  /** No connection, shutting down, read-only, disk full, too many connections: try again later. */
  | 'unavailable'
  /** Serialization failure, deadlock, lock timeout: the same statement may be sent again at once. */
  | 'transient'
  /** No partition for this id's day: make it and try again. */
  | 'missing_day'
  /** A value of one row is to blame. */
  | 'data'
  /** Anything else: a fault of ours. */
  | 'bug'

const unavailableCodes = new Set([
  '57P01',
  '57P02',
  '57P03',
  '57P05',
  '57014',
  '53000',
  '53100',
  '53200',
  '53300',
  '53400',
  '25006',
  '58000',
  '58030',
  '3D000',
  '28000',
  '28P01',
])
const socketCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
])
const driverMessages =
  /connection terminated|connection ended|timeout exceeded when trying to connect|query read timeout|client has encountered a connection error|not queryable|client was closed|cannot use a pool after/i

/** The connection broke after work was sent, and whether that still takes effect could not be settled. */
export class UnsettledOutcome extends Error {
  constructor(cause: unknown) {
    super('the connection broke and its server process could not be ended', { cause })
  }
}

export function faultKind(error: unknown): FaultKind {
  if (!(error instanceof Error)) return 'bug'
  if (error instanceof UnsettledOutcome) return 'unavailable'
  // a number that the wire format of a parameter cannot carry
  if (error instanceof RangeError) return 'data'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (socketCodes.has(code) || unavailableCodes.has(code) || code.startsWith('08')) return 'unavailable'
  if (code === '40001' || code === '40P01' || code === '55P03') return 'transient'
  if (code === '23514' && /no partition of relation/.test(error.message)) return 'missing_day'
  if (code.startsWith('22') || code.startsWith('23') || code === '54000') return 'data'
  if (code === '' && driverMessages.test(error.message)) return 'unavailable'
  return 'bug'
}

/**
 * True when the statement may have taken effect although it failed: the connection broke after it was sent. A refusal by
 * the server itself (an SQLSTATE outside class 08 and the shutdown codes) is certain.
 */
export function isUnknownOutcome(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('57P')) return true
  return faultKind(error) === 'unavailable' && !/^[0-9A-Z]{5}$/.test(code)
}

/** The catalogue's error for a fault of the store; anything that is not one is returned as it is. */
export function asDulyError(error: unknown): unknown {
  if (error instanceof DulyError) return error
  const kind = faultKind(error)
  if (kind !== 'unavailable' && kind !== 'transient') return error
  return new DulyError('store_unavailable', 'The database cannot be reached or refuses work; try again.', {
    retryAfterSeconds: 1,
    cause: error,
  })
}

/** A change that was sent may have been made, or not. Whoever is told that nothing was accepted repeats it, and is refused then. */
export function outcomeUnknown(cause: unknown): DulyError {
  const detail =
    'The connection broke while the change was made; whether it was is not known. Look before you repeat it.'
  return new DulyError('commit_unknown', detail, { retryAfterSeconds: 1, cause })
}

/** The store could not be reached, and nothing was changed. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof DulyError && error.code === 'store_unavailable'

/** Whether the change was made is not known. */
export const isCommitUnknown = (error: unknown): boolean =>
  error instanceof DulyError && error.code === 'commit_unknown'

/** Reads what a change came to that is made; a store that goes away meanwhile takes nothing of it back. */
export async function readBack<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!isUnavailable(error)) throw error
    const detail = 'The change was made, but how things stand after it could not be read. Look before you repeat it.'
    throw new DulyError('commit_unknown', detail, { retryAfterSeconds: 1, cause: error })
  }
}
