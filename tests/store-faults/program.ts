import type { Uuid } from '@duly/domain'
import type { NewTask } from '../../packages/server/src/model.js'
import { newTask } from '../../packages/server/src/testing/test-node.js'
import { type Random, randomOf } from '../chaos/load/random.js'
import type { FaultyNode } from './faulty-node.js'
import { Ledger, type Verb } from './ledger.js'
import { FaultWorker } from './workers.js'

const verbs: readonly Verb[] = ['succeed', 'succeed', 'fail', 'retry', 'retry', 'timeOut', 'snooze', 'release', 'stop']
const maxTasks = 24
const actor = { kind: 'api', name: 'tester' } as const

const steps = {
  ...{ submit: 5, keyed: 3, batch: 2, handOff: 3, poll: 5, exchange: 6, report: 4, beat: 3, cancel: 3, replay: 4 },
  ...{ edit: 3, read: 3, wait: 1, promote: 4, watch: 2, look: 2, hire: 1, kill: 1, leave: 1, overrun: 1 },
}
type Step = keyof typeof steps

interface Key {
  readonly key: string
  readonly mark: string
  readonly task: NewTask
}

/** Clients and workers who do what a seed says to one node, each in a queue and under keys of its own. */
export class Program {
  readonly name: string
  readonly ledger = new Ledger()
  readonly queue: string
  readonly #node: FaultyNode
  readonly #random: Random
  readonly #workers: FaultWorker[] = []
  readonly #tasks: Uuid[] = []
  readonly #keys: Key[] = []
  /** Tasks whose attempts were made to run too long. */
  readonly #overrun = new Set<Uuid>()
  #marks = 0

  constructor(node: FaultyNode, name: string) {
    this.#node = node
    this.name = name
    this.queue = `q-${name}`
    this.#random = randomOf(`program ${name}`)
  }

  /** So many rounds of one to four steps at once. */
  async run(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const together = this.#random.integer(1, 4)
      await Promise.all(Array.from({ length: together }, () => this.#step(this.#random.weighted(steps))))
    }
  }

  /** The faults are over: everything ends, by workers who succeed with all that they get. */
  async settle(): Promise<void> {
    // suspects go out one at a time
    for (let round = 0; round < 100; round++) {
      if (!this.#workers.some(({ isGone }) => !isGone)) await this.#hire()
      if (round % 4 === 0) {
        await this.#promote()
        for (const worker of this.#workers) await (worker.isGone ? this.#kill(worker) : worker.beat(0))
        await this.#watch()
      }
      await this.#look()
      for (const worker of this.#workers) {
        if (!worker.isGone) await worker.exchange(this.#random, { slots: 20, waitMs: 0, verbs: ['succeed'] })
      }
      const open = await this.#open()
      if (open.length === 0) break
      this.ledger.note(`round ${round}, open: ${JSON.stringify(open)}`)
    }
    await this.#expectIdle()
    for (const worker of this.#workers) if (!worker.isGone) await worker.leave()
  }

  #open(): Promise<{ status: string; gate: string }[]> {
    return this.#node.query('select status, gate, ready_at, session from open_tasks where queue = $1', [this.queue])
  }

  /** Nothing waits in memory for what is over. */
  async #expectIdle(): Promise<void> {
    const { intake, reports, waiters, sessions } = this.#node.parts
    const late = new Promise((resolve) => setTimeout(resolve, 30_000, 'late').unref())
    const drained = Promise.all([intake.drained(), reports.drained()])
    if ((await Promise.race([drained, late])) === 'late') this.ledger.wrong.push('submissions or reports still wait')
    if (waiters.ids.length > 0) this.ledger.wrong.push(`somebody still waits for ${waiters.ids}`)
    // a claim may be under way for whoever waits
    const promises = () =>
      [...sessions.all()].filter(({ row, promised }) => row.queues.includes(this.queue) && promised !== 0)
    for (let look = 0; promises().length > 0 && look < 600; look++) await new Promise((done) => setTimeout(done, 50))
    for (const { row, promised } of promises()) {
      this.ledger.wrong.push(`${promised} slots of ${row.id} are still promised`)
    }
  }

  #step(step: Step): Promise<unknown> {
    const worker = this.#worker()
    const id = this.#tasks.length > 0 ? this.#random.pick(this.#tasks) : null
    const waitMs = this.#random.pick([0, 0, 5])
    switch (step) {
      case 'submit':
      case 'keyed':
      case 'batch':
        return this.#submission(step)
      case 'promote':
        return this.#promote()
      case 'watch':
        return this.#watch()
      case 'look':
        return this.#look()
      case 'cancel':
      case 'replay':
      case 'edit':
      case 'read':
      case 'wait':
      case 'overrun':
        return id === null ? this.#submission('submit') : this.#about(step, id)
      default:
        return worker === null || step === 'hire' ? this.#hire() : this.#work(step, worker, waitMs)
    }
  }

  #work(step: Step, worker: FaultWorker, waitMs: number): Promise<unknown> {
    const slots = this.#random.integer(1, 5)
    switch (step) {
      case 'poll':
        return worker.poll(slots, waitMs)
      case 'handOff':
        return Promise.all([worker.poll(slots, 20), this.#submission('submit')])
      case 'exchange':
        return worker.exchange(this.#random, { slots, waitMs, verbs })
      case 'report':
        return worker.report(this.#random, verbs)
      case 'beat':
        return worker.beat(waitMs)
      case 'leave':
        return worker.leave()
      default:
        return this.#kill(worker)
    }
  }

  #about(step: Step, id: Uuid): Promise<unknown> {
    switch (step) {
      case 'cancel':
        return this.#cancel(id)
      case 'replay':
        return this.#replay(id)
      case 'edit':
        return this.#edit(id)
      case 'overrun':
        return this.#overrunOf(id)
      case 'wait':
        return this.#ask(`wait for ${id}`, ({ tasks }) =>
          tasks.getFinished(id, null, { waitMs: 5, signal: AbortSignal.timeout(10_000) }),
        )
      default:
        return this.#read(id)
    }
  }

  #ask<T>(what: string, call: (services: FaultyNode['parts']['services']) => Promise<T>) {
    return this.ledger.ask(what, () => call(this.#node.parts.services))
  }

  #submission(kind: 'submit' | 'keyed' | 'batch'): Promise<unknown> {
    if (this.#tasks.length >= maxTasks) return this.#read(this.#random.pick(this.#tasks))
    if (kind === 'submit') return this.#submit(this.#newTask())
    if (kind === 'keyed') return this.#submit(this.#keyed())
    const items = Array.from({ length: this.#random.integer(1, 4) }, () =>
      this.#random.next() < 0.3 ? this.#keyed() : this.#newTask(),
    )
    return this.#submitBatch(items)
  }

  async #submit({ mark, task }: { mark: string; task: NewTask }): Promise<void> {
    const answer = await this.#ask(`submit ${mark}`, async ({ intake }) => [await intake.submit(task)])
    this.ledger.submitted({ verb: 'submit', marks: [mark], keys: [task.idempotencyKey] }, answer)
    if (answer.ok) this.#tasks.push(...answer.value.map(({ id }) => id))
  }

  async #submitBatch(items: readonly { mark: string; task: NewTask }[]): Promise<void> {
    const marks = items.map(({ mark }) => mark)
    const answer = await this.#ask(`batch ${marks}`, ({ intake }) => intake.submitBatch(items.map(({ task }) => task)))
    this.ledger.submitted({ verb: 'batch', marks, keys: items.map(({ task }) => task.idempotencyKey) }, answer)
    if (answer.ok) this.#tasks.push(...answer.value.map(({ id }) => id))
  }

  #newTask(): { mark: string; task: NewTask } {
    const mark = `${this.name}/${this.#marks++}`
    const random = this.#random
    const task = newTask({
      ...{ queue: this.queue, tenant: this.queue, payload: JSON.stringify({ mark }), maxRetries: random.integer(0, 2) },
      ...{ delayMs: random.next() < 0.25 ? 5 : null, retryDelayMs: random.pick([1, 4]), retryMaxDelayMs: 4 },
      ...{ priority: random.pick([1, 2, 3] as const) },
    })
    return { mark, task }
  }

  /** A new key, or one that was used before, with the same request. */
  #keyed(): { mark: string; task: NewTask } {
    if (this.#keys.length > 0 && this.#random.next() < 0.6) return this.#random.pick(this.#keys)
    const { mark, task } = this.#newTask()
    const key = { key: mark, mark, task: { ...task, idempotencyKey: mark, requestHash: Buffer.alloc(32, mark) } }
    this.#keys.push(key)
    return key
  }

  async #cancel(id: Uuid): Promise<void> {
    this.ledger.asked('cancel', id, await this.#ask(`cancel ${id}`, ({ tasks }) => tasks.cancel(id, null, actor)))
  }

  async #replay(id: Uuid): Promise<void> {
    this.ledger.asked('replay', id, await this.#ask(`replay ${id}`, ({ tasks }) => tasks.replay(id, null, actor)))
  }

  async #edit(id: Uuid): Promise<void> {
    const edit = { priority: this.#random.pick([1, 2, 3] as const) }
    await this.#ask(`edit ${id}`, ({ tasks }) => tasks.edit(id, null, { edit, actor }))
  }

  async #read(id: Uuid): Promise<void> {
    const what = this.#random.pick(['get', 'attempts', 'events'] as const)
    await this.#ask<unknown>(`${what} ${id}`, ({ tasks }) => tasks[what](id, null))
  }

  async #hire(): Promise<void> {
    const registration = { name: 'w', host: null, version: null, queues: [this.queue], taskTypes: ['work'], slots: 20 }
    const answer = await this.#ask('register', ({ workers }) =>
      workers.register({ ...registration, heartbeatMs: 60_000 }, null),
    )
    if (!answer.ok) return
    const { workers } = this.#node.parts.services
    this.#workers.push(new FaultWorker(answer.value, { workers, ledger: this.ledger, excuses: this.#overrun }))
  }

  /** Its lease is over, as if it had been silent for long. */
  async #kill(worker: FaultWorker): Promise<void> {
    if (!worker.isGone) this.ledger.note(`kill ${worker.id}`)
    worker.isGone = true
    await this.#node.query(`update worker_sessions set live_until = 'epoch' where id = $1`, [worker.id])
  }

  async #overrunOf(id: Uuid): Promise<void> {
    this.#overrun.add(id)
    this.ledger.note(`overrun ${id}`)
    await this.#node.query(
      `update open_tasks set deadline_at = now() - interval '10 s', wake_at = now() - interval '1 s'
       where id = $1 and status = 'RUNNING'`,
      [id],
    )
  }

  async #promote(): Promise<void> {
    await this.#node.query(
      `update open_tasks set due_at = now() - interval '1 s', wake_at = now()
       where queue = $1 and status in ('SCHEDULED', 'RETRYING')`,
      [this.queue],
    )
    const { promoter, leadership } = this.#node.parts
    promoter.lookFor()
    await this.ledger.ask('lead', async () => leadership?.runOnce())
    await this.ledger.ask('promote', () => promoter.runOnce())
  }

  /** A pass of the watchdog, as if it had passed every second all along. */
  async #watch(): Promise<void> {
    await this.#node.query('update store_marks set marked_at = now(), judge_after = least(judge_after, now())')
    await this.ledger.ask('watch', () => this.#node.parts.watchdog.runOnce())
  }

  async #look(): Promise<void> {
    const { dispatcher, sessions } = this.#node.parts
    await this.ledger.ask('look', async () => {
      await dispatcher.look()
      await sessions.saveAcknowledgements()
    })
  }

  #worker(): FaultWorker | null {
    const alive = this.#workers.filter(({ isGone }) => !isGone)
    return alive.length > 0 ? this.#random.pick(alive) : null
  }
}
