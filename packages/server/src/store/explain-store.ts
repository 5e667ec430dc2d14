import {
  type AttemptFacts,
  type BlockerFacts,
  type EndFacts,
  type ErrorFacts,
  type ExplainFacts,
  type LaneFacts,
  type MinuteStarts,
  type ProgressFacts,
  type RunningFacts,
  recentRate,
  type StartRate,
  type TaskFacts,
  type TenantScope,
  type Uuid,
  type WorkerFacts,
} from '@duly/domain'
import type { Database } from './database.js'
import * as sql from './explain-sql.js'

interface ErrorRow {
  readonly errorClass: string | null
  readonly errorMessage: string | null
}

type AttemptRow = Omit<AttemptFacts, 'error'> & ErrorRow

interface TaskRow extends Omit<TaskFacts, 'lastAttempt' | 'lastLoss' | 'running' | 'progress' | 'end'>, ErrorRow {
  readonly nowMs: number
  readonly cronId: Uuid | null
  readonly workflowId: Uuid | null
  readonly lastAttempt: AttemptRow | null
  readonly lastLoss: AttemptRow | null
  readonly session: Uuid | null
  readonly sessionName: string | null
  readonly startedAtMs: number | null
  readonly deadlineAtMs: number | null
  readonly endsAtMs: number | null
  readonly cancelRequestedAtMs: number | null
  readonly cancelReason: string | null
  readonly isAcknowledged: boolean
  readonly isLeaseLive: boolean
  readonly isDraining: boolean
  readonly lastHeartbeatAtMs: number | null
  readonly heartbeatMs: number
  readonly percent: number | null
  readonly note: string | null
  readonly updatedAtMs: number | null
  readonly completedAtMs: number | null
  readonly endStartedAtMs: number | null
  readonly endSession: Uuid | null
  readonly endWorkerName: string | null
  readonly reason: string | null
  readonly discardedAtMs: number | null
  readonly actor: string | null
  readonly discardActor: string | null
  readonly isDeadLetter: boolean
  readonly isPaused: boolean
  readonly pausedAtMs: number | null
  readonly schedulers: number
  readonly schedulerSeenAtMs: number | null
}

/** What is read of one task by itself, and what the rest of its facts are looked up by. */
export type OwnFacts = Pick<ExplainFacts, 'nowMs' | 'task' | 'queue' | 'schedulers'> & {
  readonly cronId: Uuid | null
  readonly workflowId: Uuid | null
}

type LaneRow = Omit<LaneFacts, 'isAheadExact' | 'startsOf' | keyof StartRate> & {
  readonly minutes: readonly MinuteStarts[]
  /** Not so: in one of the minutes lanes were too many to be kept apart. */
  readonly isCounted: boolean
  readonly intoMinuteMs: number
}

/** What explanations are made of. Each read is bounded, whatever waits: counts stop at 10,000 and depths come from the counters. */
export class ExplainStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Null: there is no such task for the caller. */
  async task(id: Uuid, tenant: TenantScope): Promise<OwnFacts | null> {
    const [row] = await this.#database.query<TaskRow>(sql.task, [id, tenant])
    return row?.status ? ownFacts(row) : null
  }

  /** Live workers as the task sees them, and as the caller may. */
  async workers({ queue, taskType, tenant }: TaskFacts, caller: TenantScope): Promise<WorkerFacts> {
    const [row] = await this.#database.query<WorkerFacts>(sql.workers, [queue, taskType, tenant, caller])
    if (!row) throw new Error('an aggregate without a row')
    return row
  }

  /** Null: the task is PENDING no more. */
  async lane(id: Uuid, caller: TenantScope): Promise<LaneFacts | null> {
    const [row] = await this.#database.list<LaneRow>(sql.lane, [id, caller])
    if (!row) return null
    const isAheadExact = row.ahead <= sql.countBound
    const ahead = Math.min(row.ahead, sql.countBound)
    // counters are a moment behind while tasks move
    const depth = Math.max(row.depth, ahead + 1)
    const { minutes, isCounted, intoMinuteMs, ...lane } = row
    const rate = recentRate(isCounted ? minutes : [], intoMinuteMs)
    return { ...lane, ahead, isAheadExact, depth, ...rate, startsOf: caller === null ? 'queue' : 'tenant' }
  }

  /** What a node of a workflow waits for; or, of one that was not run, what ended without success before it. */
  async dependencies(id: Uuid, wasNotRun: boolean): Promise<BlockerFacts> {
    const [row] = await this.#database.query<Omit<BlockerFacts, 'kind'>>(sql.dependencies, [id, wasNotRun])
    return { kind: 'dependencies', count: row?.count ?? 0, tasks: row?.tasks ?? [], rule: row?.rule ?? null }
  }

  /** The earlier tasks of its recurring task whose ends a BLOCKED one waits for. */
  async earlier(cronId: Uuid): Promise<BlockerFacts> {
    const [row] = await this.#database.query<Omit<BlockerFacts, 'kind'>>(sql.earlier, [cronId])
    return { kind: 'earlier', count: row?.count ?? 0, tasks: row?.tasks ?? [], rule: null }
  }
}

function ownFacts(row: TaskRow): OwnFacts {
  const { nowMs, cronId, workflowId, isPaused, pausedAtMs, schedulers, schedulerSeenAtMs } = row
  return {
    ...{ nowMs, cronId, workflowId, task: taskOf(row), queue: { isPaused, pausedAtMs } },
    schedulers: { live: schedulers, lastSeenAtMs: schedulerSeenAtMs },
  }
}

function taskOf(row: TaskRow): TaskFacts {
  const { status, tenant, taskType, queue, priority, gate, dueAtMs, readyAtMs, expiresAtMs } = row
  const { attempt, failures, crashes, undelivered, snoozes, maxRetries, backoff, jitter } = row
  return {
    ...{ status, tenant, taskType, queue, priority, gate, dueAtMs, readyAtMs, expiresAtMs },
    ...{ attempt, failures, crashes, undelivered, snoozes, maxRetries, backoff, jitter },
    lastAttempt: attemptOf(row.lastAttempt),
    lastLoss: attemptOf(row.lastLoss),
    running: runningOf(row),
    progress: progressOf(row),
    end: endOf(row),
  }
}

const errorOf = ({ errorClass, errorMessage }: ErrorRow): ErrorFacts | null =>
  errorClass === null ? null : { class: errorClass, message: errorMessage ?? '' }

function attemptOf(row: AttemptRow | null): AttemptFacts | null {
  if (row === null) return null
  const { errorClass, errorMessage, ...attempt } = row
  return { ...attempt, error: errorOf({ errorClass, errorMessage }) }
}

function runningOf(row: TaskRow): RunningFacts | null {
  const { session, startedAtMs, deadlineAtMs, endsAtMs } = row
  if (session === null || startedAtMs === null || deadlineAtMs === null || endsAtMs === null) return null
  const { cancelRequestedAtMs, cancelReason, isAcknowledged, isLeaseLive, isDraining, lastHeartbeatAtMs, heartbeatMs } =
    row
  return {
    ...{ workerId: session, workerName: row.sessionName, startedAtMs, deadlineAtMs, endsAtMs, cancelRequestedAtMs },
    ...{ cancelReason, isAcknowledged, isLeaseLive, isDraining, lastHeartbeatAtMs, heartbeatMs },
  }
}

function progressOf({ percent, note, updatedAtMs }: TaskRow): ProgressFacts | null {
  return percent === null || updatedAtMs === null ? null : { percent, note, updatedAtMs }
}

function endOf(row: TaskRow): EndFacts | null {
  const { completedAtMs, endStartedAtMs, endSession, endWorkerName, reason, actor } = row
  const { isDeadLetter, discardedAtMs, discardActor } = row
  if (completedAtMs === null) return null
  return {
    ...{ completedAtMs, startedAtMs: endStartedAtMs, workerId: endSession, workerName: endWorkerName },
    ...{ reason, actor, isDeadLetter, discardedAtMs, discardActor, error: errorOf(row) },
  }
}
