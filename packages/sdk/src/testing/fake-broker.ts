import type { WireGrant } from '../worker/wire.js'
import { type Call, problem, type Reply, ScriptedServer } from './scripted-server.js'

interface Held {
  readonly slots: number
  readonly answer: (tasks: readonly WireGrant[]) => void
}

export type WireReport = Record<string, unknown> & {
  readonly task_id: string
  readonly lease: string
  readonly outcome: string
}

export interface SessionTerms {
  readonly heartbeatSeconds: number
  readonly leaseSeconds: number
}

/**
 * A peer that speaks the worker protocol from memory: numbered grants, one poll a session (a newer one empties the older),
 * beats held until there is something to say. Tests change its manners through `intercept`.
 */
export class FakeBroker {
  readonly reports: WireReport[] = []
  readonly leases = new Map<string, WireGrant>()
  /** Most leases held at a time. */
  mostLeases = 0
  received = 0
  sessions = 0
  left = 0
  /** What a registration is answered. */
  terms: SessionTerms = { heartbeatSeconds: 1, leaseSeconds: 3 }
  /** First say on each call; undefined: as usual. */
  intercept: (call: Call) => Reply | undefined | Promise<Reply | undefined> = () => undefined
  /** Whether what was done for a call is not answered: its connection is cut. */
  losesAnswer: (call: Call, reply: Reply) => boolean = () => false
  #backlog: WireGrant[] = []
  #unacknowledged: WireGrant[] = []
  #granted = 0
  #made = 0
  #poll: Held | null = null
  #wakeBeat: (() => void) | null = null
  #cancel: { lease: string; reason: string }[] = []
  #lost: string[] = []
  #isDraining = false
  #server: ScriptedServer | null = null

  static async start(port?: number): Promise<FakeBroker> {
    const broker = new FakeBroker()
    broker.#server = await ScriptedServer.start(async (call) => {
      const reply = await broker.#answer(call)
      return broker.losesAnswer(call, reply) ? { cut: true } : reply
    }, port)
    return broker
  }

  get server(): ScriptedServer {
    if (this.#server === null) throw new Error('not started')
    return this.#server
  }

  get url(): string {
    return this.server.url
  }

  stop(): Promise<void> {
    return this.server.stop()
  }

  /** A task for the worker, handed over as soon as a poll has a slot for it. */
  push(taskType: string, payload: unknown = null, more: Partial<WireGrant> = {}): string {
    this.#made += 1
    const id = `task-${this.#made}`
    this.#backlog.push({
      grant: 0,
      task_id: id,
      lease: `lease-${this.#made}`,
      attempt: 1,
      failures: 0,
      task_type: taskType,
      queue: 'default',
      payload,
      timeout_ms: 300_000,
      deadline_at: '2026-01-01T00:00:00.000Z',
      idempotency_key: id,
      checkpoint: null,
      metadata: null,
      ...more,
    })
    this.#serve()
    return id
  }

  cancel(lease: string): void {
    this.#cancel.push({ lease, reason: 'cancel_requested' })
    this.#wakeBeat?.()
  }

  lose(lease: string): void {
    this.leases.delete(lease)
    this.#lost.push(lease)
    this.#wakeBeat?.()
  }

  drain(): void {
    this.#isDraining = true
    this.#wakeBeat?.()
  }

  /** Ends the session: everything said in its name is answered 409 from now on. */
  loseSession(): void {
    this.left = this.sessions
    this.leases.clear()
    this.#unacknowledged = []
    this.received = 0
    this.#granted = 0
    this.#closePoll()
    this.#wakeBeat?.()
  }

  reportOf(taskId: string): WireReport | undefined {
    return this.reports.find((report) => report.task_id === taskId)
  }

  /** Resolves with the outcome of a task once it is reported. */
  async outcome(taskId: string): Promise<WireReport> {
    await this.server.until(() => this.reportOf(taskId) !== undefined)
    return this.reportOf(taskId) as WireReport
  }

  async #answer(call: Call): Promise<Reply> {
    const said = await this.intercept(call)
    if (said !== undefined) return said
    if (call.path === '/api/v1/workers') return this.#register()
    const [, session, name] = /^\/api\/v1\/workers\/worker-(\d+)(?:\/(\w+))?$/.exec(call.path) ?? []
    if (Number(session) !== this.sessions || this.left >= this.sessions) return problem(409, 'session_lost')
    if (call.method === 'DELETE') return this.#leave()
    this.#acknowledge(Number(call.body.received ?? 0))
    if (name === 'heartbeat') return this.#beat(call)
    const results = this.#take((call.body.reports ?? []) as WireReport[])
    if (name === 'report') return { body: { results } }
    const tasks = await this.#waitForTasks(call)
    if (this.left >= this.sessions) return problem(409, 'session_lost')
    return { body: name === 'poll' ? { tasks } : { results, tasks } }
  }

  #register(): Reply {
    this.sessions += 1
    const { heartbeatSeconds: heartbeat_seconds, leaseSeconds: lease_seconds } = this.terms
    return { status: 201, body: { worker_id: `worker-${this.sessions}`, heartbeat_seconds, lease_seconds } }
  }

  #leave(): Reply {
    this.left = this.sessions
    this.#closePoll()
    this.#wakeBeat?.()
    return { status: 204 }
  }

  #acknowledge(received: number): void {
    this.received = Math.max(this.received, received)
    this.server.notify()
    this.#unacknowledged = this.#unacknowledged.filter(({ grant }) => grant > this.received)
  }

  async #beat(call: Call): Promise<Reply> {
    const news = () => this.#cancel.length + this.#lost.length > 0 || this.#isDraining
    const waitMs = Number(call.body.wait_seconds ?? 0) * 1_000
    if (!news() && waitMs > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, waitMs)
        this.#wakeBeat = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      if (this.left >= this.sessions) return problem(409, 'session_lost')
      // its client has given it up: the next beat is to hear the news
      if (call.gone.aborted) return { cut: true }
    }
    const answer = { cancel: this.#cancel, lost: this.#lost, drain: this.#isDraining }
    this.#cancel = []
    this.#lost = []
    return { body: answer }
  }

  #take(reports: readonly WireReport[]): object[] {
    return reports.map((report) => {
      const isHeld = this.leases.delete(report.lease)
      const isRepeat = this.reports.some(({ lease }) => lease === report.lease)
      if (isHeld) this.reports.push(report)
      const isAccepted = isHeld || isRepeat
      return { task_id: report.task_id, accepted: isAccepted, ...(isAccepted ? {} : { code: 'lease_lost' }) }
    })
  }

  #waitForTasks(call: Call): Promise<readonly WireGrant[]> {
    const slots = Number(call.body.slots)
    const waitMs = Number(call.body.wait_seconds ?? 0) * 1_000
    this.#closePoll()
    return new Promise((resolve) => {
      const timer = setTimeout(() => held.answer([]), waitMs)
      const held: Held = {
        slots,
        answer: (tasks) => {
          clearTimeout(timer)
          if (this.#poll === held) this.#poll = null
          resolve(tasks)
        },
      }
      call.gone.addEventListener('abort', () => held.answer([]), { once: true })
      this.#poll = held
      this.#serve()
    })
  }

  #closePoll(): void {
    this.#poll?.answer([])
  }

  #serve(): void {
    const poll = this.#poll
    if (poll === null) return
    const repeated = this.#unacknowledged
    const fresh = this.#backlog.splice(0, Math.max(0, poll.slots - repeated.length))
    const granted = fresh.map((task) => {
      this.#granted += 1
      return { ...task, grant: this.#granted }
    })
    if (repeated.length + granted.length === 0) return
    for (const task of granted) this.leases.set(task.lease, task)
    this.mostLeases = Math.max(this.mostLeases, this.leases.size)
    this.#unacknowledged = [...repeated, ...granted]
    poll.answer([...repeated, ...granted])
  }
}
