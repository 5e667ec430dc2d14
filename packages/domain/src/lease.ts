/**
 * The fence of a lease: the attempt that it was given for and a random token. Every report is compared with it (I4).
 * `attempt` counts from 1 and fits a PostgreSQL integer; `token` is 1 to 2^63 − 1, a positive PostgreSQL bigint.
 */
export interface Lease {
  readonly attempt: number
  readonly token: bigint
}

/**
 * A bit of the token that says of a lease that its task belongs to a workflow. Tokens are drawn below it, so that whoever reads a lease knows
 * by which way its end goes. A hint: the statement that ends the task decides.
 */
export const workflowTokenMark = 2n ** 62n

/** Whether a token carries the mark of a workflow's task. */
export const isOfWorkflow = (token: bigint): boolean => (token & workflowTokenMark) !== 0n

const maxAttempt = 2 ** 31 - 1
const maxToken = 2n ** 63n - 1n
/** The first hex digit is at most 7, which keeps the token within 63 bits. */
const leasePattern = /^([1-9][0-9]{0,9})-([0-7][0-9a-f]{15})$/

/** The lease as the wire carries it: the attempt, a hyphen, sixteen hex digits. One lease has one text. */
export function encodeLease({ attempt, token }: Lease): string {
  if (!Number.isInteger(attempt) || attempt < 1 || attempt > maxAttempt) {
    throw new RangeError(`attempt out of range: ${attempt}`)
  }
  if (token < 1n || token > maxToken) throw new RangeError('token out of range')
  return `${attempt}-${token.toString(16).padStart(16, '0')}`
}

/** Reads what `encodeLease` wrote; null for anything else, which can only be a lease that nobody holds. */
export function decodeLease(text: string): Lease | null {
  const match = leasePattern.exec(text)
  if (match === null) return null
  const attempt = Number(match[1])
  const token = BigInt(`0x${match[2]}`)
  return attempt > maxAttempt || token === 0n ? null : { attempt, token }
}
