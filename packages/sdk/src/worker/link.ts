import type { WorkerApi } from './api.js'
import { Attempt, type Registered } from './attempt.js'
import { ExchangeLoop } from './exchange-loop.js'
import { HeartbeatPusher } from './heartbeat-pusher.js'
import { RELEASED } from './outcome.js'
import { reportOf } from './reports.js'
import type { Runner } from './runner.js'
import type { Session } from './session.js'
import type { WireExchangeAnswer, WireGrant, WireInstructions } from './wire.js'

export interface LinkPorts {
  readonly api: WorkerApi
  readonly runner: Runner
  readonly registered: ReadonlyMap<string, Registered>
  readonly slots: number
  readonly pollWaitMs: number
  isStopping(): boolean
  refused(taskId: string, code: string): void
  instructed(session: Session, instructions: WireInstructions): void
  trouble(error: unknown): void
  lost(session: Session): void
}

/** A live session with its traffic: grants go to the runner, outcomes back to the server. */
export class Link {
  readonly session: Session
  readonly loop: ExchangeLoop
  readonly pusher: HeartbeatPusher
  readonly #ports: LinkPorts

  constructor(session: Session, ports: LinkPorts) {
    this.session = session
    this.#ports = ports
    const { api, runner, slots, pollWaitMs, trouble } = ports
    const lost = () => ports.lost(session)
    this.pusher = new HeartbeatPusher(session, {
      api,
      trouble,
      lost,
      instructed: (instructions) => ports.instructed(session, instructions),
    })
    this.loop = new ExchangeLoop(session, {
      api,
      slots,
      pollWaitMs,
      trouble,
      lost,
      freeSlots: () => runner.freeSlots,
      accept: (grants) => this.#accept(grants),
      start: (attempt) => runner.start(attempt),
      confirm: () => this.pusher.confirm(),
      owes: () => this.pusher.owes,
      flush: () => this.pusher.flush(),
      settled: (answer) => this.#settled(answer),
      abandoned: (load, error) => {
        for (const { taskId } of load) ports.trouble(new Error(`no report of ${taskId} was accepted`, { cause: error }))
      },
    })
  }

  /**
   * New grants take their slots. What came twice is dropped; what may not start here (the worker stops, the type is
   * unknown, no slot is free) is given back at once, and no handler sees it.
   */
  #accept(grants: readonly WireGrant[]): readonly Attempt[] {
    const { runner, registered, isStopping } = this.#ports
    const arrivedAt = performance.now()
    const attempts: Attempt[] = []
    for (const grant of grants) {
      this.session.receive(grant.grant)
      if (this.session.ended.aborted || !this.session.seen.add(grant.lease)) continue
      const known = registered.get(grant.task_type)
      if (known === undefined || isStopping() || runner.freeSlots <= 0) {
        this.session.reports.add(reportOf(grant.task_id, grant.lease, RELEASED))
        this.loop.wake()
        continue
      }
      const attempt = new Attempt({ grant, session: this.session, registered: known, arrivedAt })
      runner.hold(attempt)
      attempts.push(attempt)
    }
    return attempts
  }

  #settled(answer: WireExchangeAnswer): void {
    for (const result of answer.results ?? []) {
      if (!result.accepted) this.#ports.refused(result.task_id, result.code ?? 'unknown')
    }
  }
}
