import { EventEmitter } from 'node:events'
import type { Duly } from '../client/duly.js'
import type { AnyTask } from '../client/submission.js'
import { defineTask } from '../define-task.js'
import { type Duration, toMs } from '../duration.js'
import { addTasks } from './add-tasks.js'
import { WorkerApi } from './api.js'
import type { Attempt, Registered } from './attempt.js'
import { ChildTasks } from './child-tasks.js'
import type { StopSummary, WorkerEvents } from './events.js'
import { fetchResults } from './fetch-results.js'
import type { HandlerOf } from './handler.js'
import { LeaseLostError, WorkerStoppingError } from './handler-errors.js'
import { HeartbeatThread } from './heartbeat-thread.js'
import { Link } from './link.js'
import { type ErrorContext, type ResolvedWorkerOptions, resolveWorkerOptions, type WorkerOptions } from './options.js'
import { Outage } from './outage.js'
import type { Outcome } from './outcome.js'
import { RecentTexts } from './recent-texts.js'
import { register } from './registration.js'
import { reportOf } from './reports.js'
import { runUntilSignal } from './run-until-signal.js'
import { Runner } from './runner.js'
import type { Session } from './session.js'
import { leave, shutDown } from './shutdown.js'
import type { ContextServices } from './task-context.js'
import type { WireInstructions } from './wire.js'
import { nextState, type WorkerState } from './worker-state.js'

/** Why a session ended, for people. */
const GIVEN_UP = 'the server has given it up'
const LEASE_OVER = 'its key is refused and its lease is over'

/** The same trouble is told again after this, ms. */
const TROUBLE_AGAIN_AFTER_MS = 5_000

/**
 * Takes tasks from the server and runs their handlers, `slots` at a time. Survives the server's absence: outcomes are
 * kept until they are taken, and a lost session is replaced.
 */
export class Worker extends EventEmitter<WorkerEvents> {
  readonly #options: ResolvedWorkerOptions
  readonly #api: WorkerApi
  readonly #runner: Runner
  readonly #heartbeat: HeartbeatThread
  readonly #registered = new Map<string, Registered>()
  readonly #stopping = new AbortController()
  readonly #troubles = new RecentTexts(TROUBLE_AGAIN_AFTER_MS)
  #state: WorkerState = 'idle'
  #link: Link | null = null
  #stopped: Promise<StopSummary> | null = null

  /** @throws RangeError when an option is wrong; nothing is sent yet */
  constructor(duly: Duly, options: WorkerOptions = {}) {
    super()
    this.#options = resolveWorkerOptions(options)
    const outage = new Outage(duly.options.url, {
      began: (message) => this.#tellOutage('outage', message),
      ended: (message) => this.#tellOutage('recovered', message),
    })
    this.#api = new WorkerApi(duly.options, outage)
    this.#runner = new Runner(this.#options, this.#services(duly), {
      outcome: (attempt, outcome) => this.#report(attempt, outcome),
      failed: (attempt, error) => this.#tellError(error, contextOf(attempt)),
      stuck: (attempt) => this.#tellStuck(attempt),
      freed: () => this.#link?.loop.wake(),
    })
    this.#heartbeat = new HeartbeatThread(duly.options, {
      leasesOlderThan: (ageMs, session) => this.#runner.leasesOlderThan(ageMs, session),
      instructed: (session, instructions) => this.#obey(session, instructions),
      trouble: (error) => this.#tellTrouble(error),
      answered: () => outage.heard(),
      unanswered: (reason) => outage.unheard(reason),
      lost: (session) => this.#lose(session, GIVEN_UP),
    })
  }

  get state(): WorkerState {
    return this.#state
  }

  /** The id of the current session; null while there is none. */
  get workerId(): string | null {
    return this.#link?.session.id ?? null
  }

  /**
   * Registers the handler of a task type; before `start`, because the server is told which types are served here.
   *
   * @throws Error after `start`, or when the type has a handler already
   */
  handle<Task extends AnyTask | string>(task: Task, handler: HandlerOf<Task>): this {
    const definition: AnyTask = typeof task === 'string' ? defineTask(task) : task
    if (this.#state !== 'idle') throw new Error('handlers are registered before the worker starts')
    if (this.#registered.has(definition.type)) throw new Error(`${definition.type} has a handler already`)
    // The runner decodes the payload with the definition's own schema before the handler sees it.
    this.#registered.set(definition.type, { definition, handler: handler as Registered['handler'] })
    return this
  }

  /**
   * Registers with the server and starts taking tasks. While the server is away it keeps trying.
   *
   * @throws DulyApiError when the server refuses the registration; WorkerStoppingError when stopped meanwhile
   */
  async start(): Promise<void> {
    if (this.#registered.size === 0) throw new Error('a worker without a handler has nothing to do')
    this.#move('starting')
    try {
      await this.#connect(true)
    } catch (error) {
      await this.stop()
      throw error
    }
    this.#stopping.signal.throwIfAborted()
    this.#move('running')
  }

  /** The task types that have handlers here. */
  get taskTypes(): readonly string[] {
    return [...this.#registered.keys()]
  }

  /**
   * Stops: takes nothing more, lets handlers finish for the grace, gives back the rest, leaves. Ends within the grace and
   * about 5 s, even if the server is away. Calling it again gives the same promise.
   */
  stop(options: { readonly graceMs?: number; readonly grace?: Duration } = {}): Promise<StopSummary> {
    const graceMs = options.graceMs ?? (options.grace === undefined ? this.#options.graceMs : toMs(options.grace))
    this.#stopped ??= this.#stop(graceMs)
    return this.#stopped
  }

  /**
   * Starts, and runs until SIGTERM or SIGINT (or a drain by the server), then stops; a second signal ends the process at
   * once. For the main module of a worker process: when work was left undone it sets the exit code to 1, and it ends the
   * process if a handler is stuck.
   */
  run(): Promise<StopSummary> {
    return runUntilSignal(this)
  }

  async #stop(graceMs: number): Promise<StopSummary> {
    this.#move('stopping')
    this.#stopping.abort(new WorkerStoppingError('the worker stops'))
    const summary = await shutDown(this.#api, this.#runner, this.#link, graceMs)
    await this.#heartbeat.close()
    this.#runner.close()
    this.#api.close()
    this.#link = null
    this.#move('stopped')
    this.#options.logger.info('worker stopped', summary)
    this.emit('stopped', summary)
    return summary
  }

  async #connect(givesUp: boolean): Promise<void> {
    const session = await register(this.#api, this.#options, {
      definitions: [...this.#registered.values()].map(({ definition }) => definition),
      signal: this.#stopping.signal,
      givesUp,
      trouble: (error) => this.#tellTrouble(error),
    })
    if (this.#stopping.signal.aborted) {
      await leave(this.#api, session)
      throw this.#stopping.signal.reason
    }
    this.#link = new Link(session, {
      api: this.#api,
      runner: this.#runner,
      registered: this.#registered,
      slots: this.#options.slots,
      pollWaitMs: this.#options.pollWaitMs,
      isStopping: () => this.#stopping.signal.aborted,
      refused: (taskId, code) => this.#tellRefused(taskId, code),
      instructed: (of, instructions) => this.#obey(of, instructions),
      trouble: (error) => this.#tellTrouble(error),
      lost: (of) => this.#lose(of, GIVEN_UP),
    })
    session.lease.follow({
      denied: (leftMs) => this.#tellDenied(session, leftMs),
      allowed: () => this.#options.logger.info('the key works again', { workerId: session.id }),
      over: () => this.#lose(session, LEASE_OVER),
    })
    this.#heartbeat.follow(session)
    this.#link.loop.wake()
    this.#options.logger.info('worker registered', { workerId: session.id })
    this.emit('registered', session.id)
  }

  /** The session is dead: its handlers work for nothing, its outcomes would be refused. */
  #lose(session: Session, reason: string): void {
    if (this.#link?.session !== session) return
    this.#link = null
    session.end(new LeaseLostError('the session was lost'))
    this.#runner.abortAll(session, 'lost')
    this.#options.logger.warn('worker session lost', { workerId: session.id, reason })
    this.emit('session_lost', session.id, reason)
    // Only a stop ends these tries.
    if (!this.#stopping.signal.aborted) this.#connect(false).catch(() => {})
  }

  #obey(session: Session, { cancel, lost, drain }: WireInstructions): void {
    if (this.#link?.session !== session) return
    for (const { lease } of cancel) this.#runner.abort(lease, 'cancel')
    for (const lease of lost) this.#runner.abort(lease, 'lost')
    if (drain && !this.#stopping.signal.aborted) this.#drain(session.id)
  }

  /** A worker that goes away without a word looks like one that crashed. */
  #drain(workerId: string): void {
    const message = 'drained by the server: taking nothing more, finishing what runs, then leaving'
    this.#options.logger.info(message, { workerId })
    const isHeard = this.emit('drained', workerId)
    if (this.#options.isLoggerDefault && !isHeard) console.warn(`duly worker: ${message}`)
    void this.stop()
  }

  #report({ session, grant }: Attempt, outcome: Outcome): void {
    if (session.ended.aborted) return
    session.reports.add(reportOf(grant.task_id, grant.lease, outcome))
    this.#link?.loop.wake()
  }

  #services(duly: Duly): ContextServices {
    const pusherOf = ({ session }: Attempt) => (this.#link?.session === session ? this.#link.pusher : null)
    return {
      tasks: duly.tasks,
      workflows: duly.workflows,
      progress: (attempt, percent, note) => pusherOf(attempt)?.progress(attempt, percent, note),
      log: (attempt, level, message) => pusherOf(attempt)?.log(attempt, level, message),
      saveCheckpoint: async (attempt, value) => {
        const pusher = pusherOf(attempt)
        if (pusher === null) throw new LeaseLostError('the attempt no longer holds its lease')
        await pusher.checkpoint(attempt, value)
      },
      dependencyResults: (attempt, names) => fetchResults(this.#api, attempt, names),
      addTasks: (attempt, tasks) => addTasks(duly.workflows, attempt, tasks),
      childrenOf: (attempt) =>
        new ChildTasks(attempt, duly.tasks, (tasks, traceparent) =>
          addTasks(duly.workflows, attempt, tasks, traceparent),
        ),
    }
  }

  /** Told apart from an outage: of this one work does not survive, and somebody has to give the worker another key. */
  #tellDenied({ id: workerId }: Session, leftMs: number): void {
    const inSeconds = Math.ceil(leftMs / 1_000)
    const message = `the server refuses the key of ${workerId}: unless it works again, what runs is aborted in ${inSeconds} s`
    this.#options.logger.warn(message)
    const isHeard = this.emit('denied', message)
    if (this.#options.isLoggerDefault && !isHeard) console.warn(`duly worker: ${message}`)
  }

  #tellStuck(attempt: Attempt): void {
    const context = contextOf(attempt)
    this.#options.logger.warn('handler ignores its signal; its slot stays taken', context)
    this.emit('stuck', context)
    if (this.#runner.stuckSlots >= this.#options.maxStuck) this.emit('too_many_stuck', this.#runner.stuckSlots)
  }

  #tellRefused(taskId: string, code: string): void {
    this.#options.logger.warn('outcome not taken', { taskId, code })
    this.emit('refused', taskId, code)
  }

  /** Somebody has to hear of it: a worker that gets no tasks looks like one that has none. */
  #tellOutage(event: 'outage' | 'recovered', message: string): void {
    if (this.#stopping.signal.aborted) return
    const isHeard = this.emit(event, message)
    if (this.#options.isLoggerDefault && !isHeard) console.warn(`duly worker: ${message}`)
    if (event === 'recovered') this.#options.logger.info(message)
  }

  /** A server that is away makes the same trouble many times a second: told once in a while. */
  #tellTrouble(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    if (!this.#troubles.isNew(message)) return
    this.#options.logger.warn('trouble with the server', { error: message })
    this.#tellError(error)
  }

  /** The application's listener must not harm the worker. */
  #tellError(error: unknown, context?: ErrorContext): void {
    try {
      this.#options.onError(error, context)
    } catch (fault) {
      this.#options.logger.error('onError failed', { error: fault instanceof Error ? fault.message : fault })
    }
  }

  #move(to: WorkerState): void {
    this.#state = nextState(this.#state, to)
  }
}

function contextOf({ grant }: Attempt): ErrorContext {
  return { taskId: grant.task_id, taskType: grant.task_type, attempt: grant.attempt }
}
