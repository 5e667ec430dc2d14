import { encodeLease, type Uuid } from '@duly/domain'
import type { Random } from '../../../../tests/chaos/load/random.js'
import type { SessionState } from '../dispatch/session-state.js'
import type { NewTask, Report } from '../model.js'
import type { TakenTask } from '../queue/port.js'
import { error } from './lives.js'
import { keyed, newTask } from './test-node.js'
import { dayMs, type VirtualStore } from './virtual-store.js'

/** What a handler of the test does with a task: its type says it. */
const endOf = {
  succeed: { outcome: 'succeeded', result: '{"ok":true}' },
  fail: { outcome: 'failed', error, retryable: false, retryAfterMs: null, timedOut: false },
  die: { outcome: 'failed', error, retryable: true, retryAfterMs: null, timedOut: false },
} as const

type Kind = keyof typeof endOf

/** A task that the test knows of. */
export interface KnownTask {
  readonly id: Uuid
  readonly createdAtMs: number
  readonly key: string | null
  readonly kind: Kind
}

/** Everyday work of a deployment, day by day: submissions of every kind, claims, reports, replays, discards. */
export class VirtualLife {
  readonly known = new Map<Uuid, KnownTask>()
  readonly #store: VirtualStore
  readonly #random: Random
  #keys = 0
  #day = 0

  constructor(store: VirtualStore, random: Random) {
    this.#store = store
    this.#random = random
  }

  /** Tasks of a day: most run at once, some in days, weeks, months; some fail, some die, some carry keys or short-lived results. */
  async submitDay(scale: number): Promise<void> {
    this.#day++
    const day = (days: number) => ({ delayMs: days * dayMs - this.#random.integer(0, 60_000) })
    const tasks: NewTask[] = []
    for (let n = 0; n < 4 * scale; n++) tasks.push(of('succeed'))
    for (let n = 0; n < 2 * scale; n++) tasks.push(this.#keyed('succeed'))
    tasks.push(of('succeed', { resultTtlMs: 2 * dayMs }), of('fail'), of('die'), of('die'), this.#keyed('die'))
    for (const days of [5, 40, 80]) tasks.push(of('succeed', day(days)), this.#keyed('succeed', day(days)))
    tasks.push(of('fail', day(this.#random.integer(1, 80))), of('die', day(this.#random.integer(1, 80))))
    await Promise.all(tasks.map((task) => this.submit(task)))
  }

  async submit(task: NewTask): Promise<Uuid> {
    const { id, createdAtMs } = await this.#store.node.intake.submit(task)
    this.known.set(id, { id, createdAtMs, key: task.idempotencyKey, kind: task.taskType as Kind })
    return id
  }

  /** Promotes what is due, and runs all that is ready. */
  async work(): Promise<void> {
    const { node } = this.#store
    const due = await node.stores.timers.peek(partitions, { horizonMs: 0, perPartition: 100, limit: 10_000 })
    await node.stores.timers.promote(due.map(({ id }) => ({ id, handoff: null, epoch: 1 })))
    const worker = await node.worker({ taskTypes: Object.keys(endOf) })
    for (let taken = await node.claim(worker, 400); taken.length > 0; taken = await node.claim(worker, 400)) {
      await this.#report(worker, taken)
    }
    await node.workers.leave({ id: worker.row.id, tenant: null })
  }

  async #report(worker: SessionState, taken: readonly TakenTask[]): Promise<void> {
    const reports = taken.map(
      (task): Report => ({ id: task.id, lease: encodeLease(task), ...endOf[task.taskType as Kind] }),
    )
    for (const result of await this.#store.node.reports.report(worker, reports)) {
      if (!result.accepted) throw new Error(`a report was refused: ${result.code}`)
    }
  }

  /** Takes some finished tasks back, of any age. */
  async replaySome(count: number): Promise<void> {
    const rows = await this.#pick(`u.status <> 'SUCCEEDED' and u.discarded_at is null`, count)
    for (const { id } of rows) await this.#store.node.tasks.replay(id, null, { kind: 'api', name: 'tester' })
  }

  /** Cancels some that wait for their time. */
  async cancelSome(count: number): Promise<void> {
    const rows = await this.#store.node.query<{ id: Uuid }>(
      `select id from open_tasks where status = 'SCHEDULED' order by md5(id::text || $1) limit $2`,
      [String(this.#day), count],
    )
    for (const { id } of rows) await this.#store.node.tasks.cancel(id, null, { kind: 'api', name: 'tester' })
  }

  /** The letter goes, the record stays, marked. */
  async discardSome(count: number): Promise<void> {
    const rows = await this.#pick(`u.status = 'DEAD' and u.discarded_at is null`, count)
    const ids = rows.map(({ id }) => id)
    await this.#store.node.stores.deadLetters.discard(ids, null, { actor: 'api:tester', reason: null })
  }

  #pick(condition: string, count: number): Promise<{ id: Uuid }[]> {
    return this.#store.node.query<{ id: Uuid }>(
      `select u.id from outcomes u where ${condition} order by md5(u.id::text || $1) limit $2`,
      [String(this.#day), count],
    )
  }

  #keyed(kind: Kind, over: Partial<NewTask> = {}): NewTask {
    this.#keys++
    return keyed(`key-${this.#keys}`, 'a', { taskType: kind, maxRetries: 0, ...over })
  }
}

const partitions = Array.from({ length: 64 }, (_, partition) => partition)

const of = (kind: Kind, over: Partial<NewTask> = {}): NewTask => newTask({ taskType: kind, maxRetries: 0, ...over })
