import { gates, type Lane, type Uuid } from '@duly/domain'
import type { Signals } from '../coordination/signals.js'
import { type AttemptListener, readyLanes } from '../dispatch/attempts.js'
import type { Dispatcher } from '../dispatch/dispatcher.js'
import type { ReadyLane } from '../dispatch/others.js'
import type { EndedTask } from '../model.js'
import type { TakenTask } from '../queue/port.js'
import type { Recorder } from '../stats/recorder.js'
import type { Finish, Landed, Reopen } from '../store/attempt-store.js'
import type { EditedTask } from '../store/edit-store.js'
import type { MintedTask, PlacedTask } from '../store/intake-store.js'
import type { DueTimer, Promoted } from '../store/timer-store.js'
import type { Waiters } from '../tasks/waiters.js'
import type { Metrics } from '../telemetry/metrics.js'
import type { Settled } from '../workflows/settlement.js'

export interface ObserverParts {
  readonly metrics: Metrics
  readonly recorder: Recorder
  readonly waiters: Waiters
  readonly dispatcher: () => Dispatcher
  readonly signals: Signals
  readonly addTimer: (timer: DueTimer) => void
  readonly storeNowMs: () => number
  /** Tasks ended at this node; one may wait for that. */
  readonly onEnded: (ids: readonly Uuid[]) => void
}

const countOf = { SUCCEEDED: 'succeeded', FAILED: 'failed', DEAD: 'dead', CANCELLED: 'cancelled' } as const

/** What the parts of a node tell each other after a commit: hints, waits and figures. Nothing here decides anything. */
export class Observers implements AttemptListener {
  readonly #parts: ObserverParts

  constructor(parts: ObserverParts) {
    this.#parts = parts
  }

  finished = (tasks: readonly Landed[], rows: readonly Finish[]): void => {
    const { metrics, recorder, storeNowMs } = this.#parts
    const nowMs = storeNowMs()
    const minute = recorder.now()
    for (const task of tasks) {
      const executionMs = Math.max(0, nowMs - task.startedAtMs)
      metrics.taskFinished({ taskType: task.taskType, status: task.status, executionMs })
      minute.count(task, countOf[task.status as Finish['status']])
      minute.measure(task, 'run', executionMs)
    }
    this.#countOutcomes(tasks, rows)
    this.ended(tasks.map((task) => task.id))
    this.#parts.dispatcher().ended(tasks)
    this.#nextSuspects(tasks)
  }

  /** Attempts that were lost or ran out of time: few, so that only they are looked for by their tasks. */
  #countOutcomes(tasks: readonly Landed[], rows: readonly (Finish | Reopen)[]): void {
    const minute = this.#parts.recorder.now()
    for (const { fence, attemptOutcome } of rows) {
      if (attemptOutcome !== 'lost' && attemptOutcome !== 'timed_out') continue
      const task = tasks.find(({ id }) => id === fence.id)
      if (task) minute.count(task, attemptOutcome)
    }
  }

  /** Tasks that were cancelled, purged or expired while they waited. */
  cancelled = (tasks: readonly EndedTask[]): void =>
    this.#endedWaiting(tasks.map((task) => ({ ...task, status: 'CANCELLED' })))

  #endedWaiting(tasks: readonly (EndedTask & { readonly status: 'CANCELLED' | 'FAILED' })[]): void {
    const { metrics, recorder } = this.#parts
    const minute = recorder.now()
    for (const task of tasks) {
      metrics.taskFinished({ taskType: task.taskType, status: task.status, executionMs: null })
      minute.count(task, countOf[task.status])
    }
    this.ended(tasks.map(({ id }) => id))
  }

  /** What ends brought about in their workflows: nodes that wait no longer, nodes that will not run, workflows that are closed. */
  settled = ({ unblocked, ended, closed }: Settled): void => {
    this.#ready(unblocked.filter(({ status }) => status === 'PENDING'))
    for (const { dueAtMs, status, taken: _, ...node } of unblocked) {
      if (status === 'SCHEDULED') this.#parts.addTimer({ ...node, status, wakeAtMs: dueAtMs, suspect: false })
    }
    if (ended.length > 0) this.#endedWaiting(ended)
    for (const workflow of closed) this.#parts.metrics.workflowFinished(workflow)
    if (closed.length > 0) this.ended(closed.map(({ id }) => id))
  }

  /** A session that is rid of its suspect may take the next one. */
  #nextSuspects(tasks: readonly Landed[]): void {
    this.#ready(tasks.filter((task) => task.gate === gates.suspect))
  }

  /** Tasks that ended, for whoever waits for them here or elsewhere. */
  ended = (ids: readonly Uuid[]): void => {
    this.#parts.waiters.finished(ids)
    for (const id of ids) this.#parts.signals.publish('finished', id)
    this.#parts.onEnded(ids)
  }

  reopened = (tasks: readonly Landed[], rows: readonly Reopen[]): void => {
    const minute = this.#parts.recorder.now()
    this.#countOutcomes(tasks, rows)
    this.#parts.dispatcher().ended(tasks)
    this.#ready(readyLanes(tasks))
    this.#nextSuspects(tasks)
    for (const task of tasks) {
      if (task.status === 'RETRYING') {
        this.#parts.metrics.taskRetried(task.taskType)
        minute.count(task, 'retried')
      }
      if (task.dueAtMs === null || (task.status !== 'RETRYING' && task.status !== 'SCHEDULED')) continue
      const { id, partition, status, tenant, queue, taskType, priority, gate } = task
      const place = { id, partition, tenant, queue, taskType, priority, gate }
      this.#parts.addTimer({ ...place, status, wakeAtMs: task.dueAtMs, suspect: gate !== '', mayExpire: false })
    }
  }

  /** `tookMs` null: no commit of intake. */
  committed = (rows: readonly MintedTask[], placed: readonly PlacedTask[], tookMs: number | null): void => {
    if (placed.length === 0) return
    if (tookMs !== null) this.#parts.metrics.commit(placed.length, tookMs)
    const minute = this.#parts.recorder.now()
    const byId = new Map(rows.map((row) => [row.id, row]))
    const lanes: ReadyLane[] = []
    for (const place of placed) {
      const row = byId.get(place.id)
      if (!row) continue
      const { tenant, queue, priority, taskType, expiresAtMs } = row.task
      this.#parts.metrics.taskSubmitted(taskType, tenant)
      minute.count(row.task, 'submitted')
      if (place.status === 'PENDING') {
        lanes.push({ queue, priority, tenant, gate: gates.none, taskType })
      } else if (place.status === 'SCHEDULED' && place.dueAtMs !== null) {
        const timer = { id: row.id, partition: row.partition, tenant, queue, taskType, priority, gate: '' }
        const mayExpire = expiresAtMs !== null
        this.#parts.addTimer({ ...timer, status: 'SCHEDULED', wakeAtMs: place.dueAtMs, suspect: false, mayExpire })
      }
    }
    this.#ready(lanes)
  }

  /** An edited task: its lane has work now, or its timer is another one. */
  edited = (task: EditedTask): void => {
    if (task.status === 'PENDING') this.#ready([task])
    if (task.wakeAtMs !== null && task.status === 'SCHEDULED')
      this.#parts.addTimer({ ...task, wakeAtMs: task.wakeAtMs })
  }

  promoted = (tasks: readonly Promoted[]): void => {
    this.#ready(tasks)
  }

  ready = (lane: Lane): void => this.#ready([lane])

  taken = (tasks: readonly TakenTask[], tookMs: number): void => {
    const { metrics, recorder } = this.#parts
    if (tookMs > 0) metrics.claim(tasks.length, tookMs)
    const minute = recorder.now()
    for (const task of tasks) {
      const { taskType, attempt, startedAtMs, createdAtMs, readyAtMs } = task
      minute.count(task, 'started')
      minute.measure(task, 'wait', startedAtMs - readyAtMs)
      const wasDueAtOnce = attempt === 1 && readyAtMs - createdAtMs < 1
      const submitToStartMs = wasDueAtOnce ? startedAtMs - createdAtMs : null
      metrics.taskStarted({ taskType, submitToStartMs, dueToStartMs: startedAtMs - readyAtMs })
    }
  }

  #ready(lanes: readonly ReadyLane[]): void {
    if (lanes.length === 0) return
    this.#parts.dispatcher().ready(lanes)
  }
}
