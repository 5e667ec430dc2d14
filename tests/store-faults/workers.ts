import { decodeLease, type Lease, type Uuid } from '@duly/domain'
import type { GrantedTask, Report, Services, SessionRef, WorkerSession } from '../../packages/server/src/model.js'
import { words } from '../../packages/server/src/testing/lives.js'
import type { Random } from '../chaos/load/random.js'
import type { Ledger, Verb } from './ledger.js'

interface Held {
  readonly id: Uuid
  readonly text: string
  readonly lease: Lease
  readonly mark: string
  /** What was said of it, once it was: a repeat says the same. */
  verb: Verb | null
}

/** Why a lease may be gone that its worker did not give up. */
export interface Excuses {
  has(id: Uuid): boolean
}

/** A worker that speaks the protocol as it should: it says what it received, starts a lease once and repeats a report. */
export class FaultWorker {
  readonly id: Uuid
  readonly #workers: Services['workers']
  readonly #ledger: Ledger
  readonly #excuses: Excuses
  readonly #held = new Map<string, Held>()
  readonly #started = new Set<string>()
  #received = 0
  /** It was killed, left or was told that it is lost: nothing that it holds has to be there any more. */
  isGone = false

  constructor(session: WorkerSession, parts: { workers: Services['workers']; ledger: Ledger; excuses: Excuses }) {
    this.id = session.id
    this.#workers = parts.workers
    this.#ledger = parts.ledger
    this.#excuses = parts.excuses
  }

  get #ref(): SessionRef {
    return { id: this.id, tenant: null }
  }

  async poll(slots: number, waitMs: number): Promise<void> {
    const request = { slots, waitMs, received: this.#received }
    const answer = await this.#ask('poll', () => this.#workers.poll(this.#ref, request, AbortSignal.timeout(10_000)))
    if (answer.ok) this.#take(answer.value)
  }

  async report(random: Random, verbs: readonly Verb[]): Promise<void> {
    const said = this.#say(random, verbs)
    const answer = await this.#ask('report', () => this.#workers.report(this.#ref, said.map(reportOf)))
    if (answer.ok) this.#hear(said, answer.value)
  }

  async exchange(random: Random, options: { slots: number; waitMs: number; verbs: readonly Verb[] }): Promise<void> {
    const { slots, waitMs, verbs } = options
    const said = this.#say(random, verbs)
    const request = { slots, waitMs, received: this.#received }
    const signal = AbortSignal.timeout(10_000)
    const answer = await this.#ask('exchange', () =>
      this.#workers.exchange(this.#ref, said.map(reportOf), request, signal),
    )
    if (!answer.ok) return
    this.#hear(said, answer.value.results)
    this.#take(answer.value.tasks)
  }

  async beat(waitMs: number): Promise<void> {
    const held = [...this.#held.values()]
    const progress = held.slice(0, 2).map(({ text }) => ({ lease: text, percent: 50, note: 'half' }))
    const checkpoints = held.slice(0, 1).map(({ text }) => ({ lease: text, value: '{"at":1}' }))
    const logs = held.slice(0, 1).map(({ text }) => ({
      lease: text,
      id: null,
      number: null,
      atMs: Date.now(),
      level: 'info' as const,
      message: 'goes on',
    }))
    const request = {
      ...{ received: this.#received, leases: held.map(({ text }) => text), waitMs, progress, checkpoints, logs },
      ...{ lagMs: 1, rssBytes: 1 },
    }
    await this.#ask('beat', () => this.#workers.heartbeat(this.#ref, request, AbortSignal.timeout(10_000)))
  }

  async leave(): Promise<void> {
    this.isGone = true
    await this.#ask('leave', () => this.#workers.leave(this.#ref))
  }

  async #ask<T>(what: string, call: () => Promise<T>) {
    const answer = await this.#ledger.ask(`${this.id} ${what}`, call)
    if (answer.ok || answer.code !== 'session_lost') return answer
    if (!this.isGone) this.#ledger.wrong.push(`${this.id} was told that it is lost, and nobody killed it`)
    this.isGone = true
    return answer
  }

  #take(tasks: readonly GrantedTask[]): void {
    for (const { grant, id, lease: text, payload } of tasks) {
      this.#received = Math.max(this.#received, grant)
      const lease = decodeLease(text)
      if (this.#started.has(text) || lease === null) continue
      this.#started.add(text)
      const { mark } = JSON.parse(payload) as { mark: string }
      this.#held.set(text, { id, text, lease, mark, verb: null })
      this.#ledger.started(id, mark, lease)
    }
  }

  #say(random: Random, verbs: readonly Verb[]): Held[] {
    const said = [...this.#held.values()].filter(({ verb }) => verb !== null || random.next() < 0.7)
    for (const held of said) {
      held.verb ??= random.pick(verbs)
      this.#ledger.says(held.id, held.mark, held.lease, held.verb)
    }
    return said
  }

  #hear(said: readonly Held[], results: readonly { id: Uuid; accepted: boolean }[]): void {
    for (const [index, held] of said.entries()) {
      const { id, text, lease, verb } = held
      if (verb === null) continue
      if (results[index]?.accepted) this.#ledger.isAccepted(id, lease, verb)
      else if (!this.isGone && !this.#excuses.has(id)) this.#ledger.isRefused(id, lease, verb)
      this.#held.delete(text)
    }
  }
}

function reportOf({ id, text, lease, verb }: Held): Report {
  const base = { id, lease: text }
  switch (verb) {
    case 'succeed':
      return { ...base, outcome: 'succeeded', result: JSON.stringify({ attempt: lease.attempt }) }
    case 'timeOut':
      return { ...base, ...words.retry, timedOut: true }
    case 'snooze':
      return { ...base, outcome: 'snoozed', delayMs: 3 }
    default:
      return { ...base, ...words[verb ?? 'release'] }
  }
}
