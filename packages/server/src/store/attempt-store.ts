import { type Backoff, errorPattern, type Jitter, type TaskStatus, type Uuid } from '@duly/domain'
import type { AttemptOutcome, TaskError } from '../model.js'
import * as sql from './attempt-sql.js'
import { type Connection, type Database, rowsOf, type Statement } from './database.js'
import { bigintArray, booleanArray, instantArray, int4Array, int8Array, textArray, uuidArray } from './params.js'

/** The attempt that a write speaks for: the fence (I4). */
export interface Fence {
  readonly id: Uuid
  readonly session: Uuid
  readonly attempt: number
  readonly token: bigint
}

/**
 * What must still be true in the statement itself, beside the fence:
 * lost — the session does not live; overdue — the row's wake instant (deadline or cancel, with its grace) has passed;
 * unrepeated — the deadline is still `grantedUntilMs`: no node has given the grant out once more, which starts it anew.
 */
export type Condition = 'none' | 'lost' | 'overdue' | 'unrepeated'

interface EndOfAttempt {
  readonly fence: Fence
  readonly condition: Condition
  /** The deadline of the grant that is meant, for the condition `unrepeated`. */
  readonly grantedUntilMs?: number
  readonly transition: string
  readonly actor: string
  readonly reason: string | null
  readonly workerName: string | null
  readonly error: TaskError | null
  /** Counts after this attempt; null: as they stand. */
  readonly failures: number | null
  readonly crashes: number | null
  readonly undelivered: number | null
  /** How the attempt ended, for its record; null: it simply succeeded, which needs none. */
  readonly attemptOutcome: 'failed' | 'timed_out' | 'lost' | 'cancelled' | 'snoozed' | 'released' | 'undelivered' | null
}

/** The task ends with this attempt. */
export interface Finish extends EndOfAttempt {
  readonly status: 'SUCCEEDED' | 'FAILED' | 'DEAD' | 'CANCELLED'
  readonly result: string | null
}

/** The task goes on: PENDING at once, or RETRYING / SCHEDULED after a delay. */
export interface Reopen extends EndOfAttempt {
  readonly status: 'PENDING' | 'RETRYING' | 'SCHEDULED'
  readonly failures: number
  readonly crashes: number
  readonly undelivered: number
  readonly delayMs: number | null
  readonly snoozes: number
  readonly releases: number
  readonly gate: string
  /** Whether the handler asked for the delay, in the place of a draw; absent: it is neither. */
  readonly isDelayWished?: boolean
}

/** A write that landed, by the fence of the attempt that it ended. */
export interface Landed extends Fence {
  readonly status: TaskStatus
  readonly tenant: string
  readonly queue: string
  readonly taskType: string
  readonly priority: 1 | 2 | 3
  readonly gate: string
  readonly startedAtMs: number
  readonly dueAtMs: number | null
  readonly partition: number
  readonly workflowId: Uuid | null
}

/** What a decision about a failed or lost attempt needs to know. */
export interface Judged {
  readonly id: Uuid
  readonly session: Uuid
  readonly attempt: number
  readonly token: bigint
  readonly failures: number
  readonly crashes: number
  readonly undelivered: number
  readonly snoozes: number
  readonly releases: number
  readonly gate: string
  readonly grant: number
  readonly cancelRequested: boolean
  readonly previousDelayMs: number | null
  readonly maxRetries: number
  readonly backoff: Backoff
  readonly jitter: Jitter
  readonly retryDelayMs: number
  readonly retryMaxDelayMs: number
  readonly timeoutMs: number
  readonly deadlinePassed: boolean
}

/** An attempt that its worker ended before, as a repeated report finds it. */
export interface EndedAttempt extends Fence {
  /** How the attempt ended. */
  readonly outcome: AttemptOutcome
  readonly status: TaskStatus
}

type BigText<T extends { token: bigint }> = Omit<T, 'token'> & { readonly token: string }
const withToken = <T extends { token: bigint }>(row: BigText<T>): T => ({ ...row, token: BigInt(row.token) }) as T

/** Ends of attempts: every write tests the fence, and its rows say which landed. */
export class AttemptStore {
  readonly #database: Database
  readonly #slot: number

  constructor(database: Database, options: { slot: number }) {
    this.#database = database
    this.#slot = options.slot
  }

  /** Tasks of workflows stay: see `finishWithin`. */
  async finish(rows: readonly Finish[]): Promise<Landed[]> {
    const { statement, values } = finishing(rows, { isInWorkflow: false, slot: this.#slot })
    return (await this.#database.hot<BigText<Landed>>(statement, values)).map(withToken)
  }

  /** The same in a transaction that holds the workflows of the tasks; `slot` names the counters that it alone adds to. */
  async finishWithin(client: Connection, rows: readonly Finish[], slot: number): Promise<Landed[]> {
    const { statement, values } = finishing(rows, { isInWorkflow: true, slot })
    return (await rowsOf<BigText<Landed>>(client, statement, values)).map(withToken)
  }

  async reopen(rows: readonly Reopen[]): Promise<Landed[]> {
    const landed = await this.#database.hot<BigText<Landed>>(sql.reopen, [
      ...common(rows),
      textArray(rows.map((row) => row.status)),
      int8Array(rows.map((row) => row.delayMs)),
      int4Array(rows.map((row) => row.snoozes)),
      int4Array(rows.map((row) => row.releases)),
      textArray(rows.map((row) => row.gate)),
      booleanArray(rows.map((row) => row.isDelayWished ?? null)),
      this.#slot,
    ])
    return landed.map(withToken)
  }

  async judgeReported(fences: readonly Fence[]): Promise<Judged[]> {
    const rows = await this.#database.hot<BigText<Judged>>(sql.judgeReported, fenceArrays(fences))
    return rows.map(withToken)
  }

  async judgeOverdue(limit: number): Promise<Judged[]> {
    return (await this.#database.hot<BigText<Judged>>(sql.judgeOverdue, [limit])).map(withToken)
  }

  async judgeLost(session: Uuid, limit: number): Promise<Judged[]> {
    return (await this.#database.hot<BigText<Judged>>(sql.judgeLost, [session, limit])).map(withToken)
  }

  async ended(fences: readonly Fence[]): Promise<EndedAttempt[]> {
    const rows = await this.#database.hot<BigText<EndedAttempt>>(sql.readEnded, fenceArrays(fences))
    return rows.map(withToken)
  }
}

function finishing(
  rows: readonly Finish[],
  { isInWorkflow, slot }: { readonly isInWorkflow: boolean; readonly slot: number },
): { readonly statement: Statement; readonly values: unknown[] } {
  const results = textArray(rows.map((row) => row.result))
  if (!rows.every(isPlainSuccess)) {
    const statuses = textArray(rows.map((row) => row.status))
    const patterns = textArray(rows.map(patternOf))
    return { statement: sql.finish, values: [...common(rows), statuses, results, patterns, slot, isInWorkflow] }
  }
  const workers = textArray(rows.map((row) => row.workerName))
  return {
    statement: sql.succeed,
    values: [...fenceArrays(rows.map((row) => row.fence)), workers, results, isInWorkflow],
  }
}

/** A success that a worker reported: it holds whatever else was asked for, and leaves no trail. */
const isPlainSuccess = ({ status, condition }: Finish): boolean => status === 'SUCCEEDED' && condition === 'none'

/** What groups a dead task with others; of a task that does not die, nothing is computed. */
const patternOf = ({ status, error }: Finish): string | null =>
  status === 'DEAD' ? errorPattern(error?.message ?? '') : null

function fenceArrays(fences: readonly Fence[]): Buffer[] {
  return [
    uuidArray(fences.map((fence) => fence.id)),
    uuidArray(fences.map((fence) => fence.session)),
    int4Array(fences.map((fence) => fence.attempt)),
    bigintArray(fences.map((fence) => fence.token)),
  ]
}

function common(rows: readonly EndOfAttempt[]): Buffer[] {
  return [
    ...fenceArrays(rows.map((row) => row.fence)),
    textArray(rows.map((row) => row.condition)),
    instantArray(rows.map((row) => row.grantedUntilMs ?? null)),
    textArray(rows.map((row) => row.transition)),
    textArray(rows.map((row) => row.actor)),
    textArray(rows.map((row) => row.reason)),
    textArray(rows.map((row) => row.workerName)),
    textArray(rows.map((row) => row.error?.class ?? null)),
    textArray(rows.map((row) => row.error?.message ?? null)),
    textArray(rows.map((row) => row.error?.stack ?? null)),
    int4Array(rows.map((row) => row.failures)),
    int4Array(rows.map((row) => row.crashes)),
    int4Array(rows.map((row) => row.undelivered)),
    textArray(rows.map((row) => row.attemptOutcome)),
  ]
}
