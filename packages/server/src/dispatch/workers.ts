import { DulyError, decodeLease, encodeId, encodeLease } from '@duly/domain'
import type {
  DependencyResult,
  DependencyResultsRequest,
  GrantedTask,
  HeartbeatAnswer,
  HeartbeatRequest,
  PollRequest,
  Report,
  ReportResult,
  Services,
  SessionRef,
} from '../model.js'
import type { TakenTask } from '../queue/port.js'
import type { AttemptStore } from '../store/attempt-store.js'
import type { DependencyStore } from '../store/dependency-store.js'
import type { SessionStore } from '../store/session-store.js'
import type { Attempts } from './attempts.js'
import { nodesOf } from './dependencies.js'
import type { Dispatcher } from './dispatcher.js'
import { sessionActor } from './profile.js'
import { releaseHeld } from './release.js'
import type { Reports } from './reports.js'
import type { SessionState } from './session-state.js'
import type { Sessions } from './sessions.js'

export interface WorkersOptions {
  readonly sessions: Sessions
  readonly dispatcher: Dispatcher
  readonly reports: Reports
  readonly attempts: Attempts
  readonly attemptStore: AttemptStore
  readonly store: SessionStore
  readonly dependencies: DependencyStore
}

/** The worker protocol: sessions, grants and reports. */
export class Workers implements NonNullable<Services['workers']> {
  readonly #options: WorkersOptions

  constructor(options: WorkersOptions) {
    this.#options = options
  }

  register: Services['workers']['register'] = (registration, tenant) =>
    this.#options.sessions.register(registration, tenant)

  async poll(session: SessionRef, request: PollRequest, signal: AbortSignal): Promise<readonly GrantedTask[]> {
    const state = await this.#options.sessions.require(session)
    return this.#grant(await this.#options.dispatcher.poll(state, request, signal))
  }

  async report(session: SessionRef, reports: readonly Report[]): Promise<readonly ReportResult[]> {
    const state = await this.#options.sessions.require(session)
    return this.#report(state, reports)
  }

  /**
   * Report and poll in one. The claim runs beside the reports; with reports to answer for, the poll waits no longer than for
   * what is under way.
   */
  async exchange(
    session: SessionRef,
    reports: readonly Report[],
    request: PollRequest,
    signal: AbortSignal,
  ): Promise<{ results: readonly ReportResult[]; tasks: readonly GrantedTask[] }> {
    const state = await this.#options.sessions.require(session)
    const { dispatcher } = this.#options
    if (reports.length === 0) {
      return { results: [], tasks: await this.#grant(await dispatcher.poll(state, request, signal)) }
    }
    const until = this.#report(state, reports)
    const [results, tasks] = await Promise.all([until, dispatcher.poll(state, { ...request, until }, signal)])
    return { results, tasks: await this.#grant(tasks) }
  }

  async dependencyResults(ref: SessionRef, request: DependencyResultsRequest): Promise<readonly DependencyResult[]> {
    await this.#options.sessions.require(ref)
    const lease = decodeLease(request.lease)
    if (lease === null) throw new DulyError('lease_lost', 'The lease is not that of the running attempt.')
    return this.#options.dependencies.results({ id: request.id, session: ref.id, ...lease }, request.names)
  }

  heartbeat(session: SessionRef, request: HeartbeatRequest, signal: AbortSignal): Promise<HeartbeatAnswer> {
    return this.#options.sessions.heartbeat(session, request, signal)
  }

  /** Ends a session; what it still holds goes back and costs no attempt. */
  async leave(ref: SessionRef): Promise<void> {
    const { sessions, store, attemptStore, attempts } = this.#options
    const state = await sessions.require(ref)
    const session = ref.id
    this.#options.dispatcher.drop(state)
    // first it takes no more, so that what it holds is all that it will ever hold
    await store.drain(session)
    const held = await store.held([session])
    const fences = held.map(({ id, attempt, token }) => ({ id, session, attempt, token }))
    await releaseHeld({ attempts, attemptStore }, fences, { actor: sessionActor(session), workerName: state.row.name })
    await store.end(session, 'left')
    sessions.forget(state)
  }

  /** A grant whose answer can't be completed is repeated to the next poll: nothing of it was received. */
  async #grant(tasks: readonly TakenTask[]): Promise<GrantedTask[]> {
    const nodes = await nodesOf(this.#options.dependencies, tasks)
    return tasks.map((task) => {
      const node = nodes.get(task.id)
      return node === undefined ? granted(task) : { ...granted(task), node }
    })
  }

  async #report(state: SessionState, reports: readonly Report[]): Promise<ReportResult[]> {
    const judged = this.#options.reports.report(state, reports)
    // what was reported takes no slot any more, from the moment on that it is here
    this.#options.dispatcher.hasRoom(state)
    const results = await judged
    // a lost lease may mean a lost session: the next call asks the store
    if (results.some((result) => !result.accepted)) this.#options.sessions.doubt(state)
    return results
  }
}

function granted(task: TakenTask): GrantedTask {
  const { grant, id, attempt, failures, taskType, queue, payload, metadata, tenant, timeoutMs } = task
  return {
    grant,
    id,
    lease: encodeLease(task),
    attempt,
    failures,
    taskType,
    queue,
    payload,
    metadata,
    tenant,
    timeoutMs,
    deadlineAtMs: task.deadlineAtMs,
    idempotencyKey: task.idempotencyKey ?? encodeId('task', id),
    checkpoint: task.checkpoint,
    suspect: task.suspect,
    traceparent: task.traceparent,
    cronId: task.cronId,
    scheduledAtMs: task.scheduledAtMs,
  }
}
