import { encodeLease } from '@duly/domain'
import { expect, test } from 'vitest'
import { type Random, randomOf, seed } from '../../../../tests/chaos/load/random.js'
import type { SessionState } from '../dispatch/session-state.js'
import { expectChained, expectSound, wholeTrailOf } from '../testing/facts.js'
import { passDeadline, passDue, reportOf, silence, watch, words } from '../testing/lives.js'
import * as model from '../testing/model.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store

const walks = 5
const stepsOfWalk = 100
const tasksOfWalk = 5
const workersOfWalk = 3

/** One random walk: the same steps in the store and in the model. */
class Walk {
  readonly #random: Random
  readonly #queue: string
  readonly #tasks: model.ModelTask[] = []
  readonly #leases = new Map<string, string>()
  /** Workers by number; a dead one is replaced under the next number. */
  readonly #workers: { readonly state: SessionState; isAlive: boolean }[] = []
  readonly log: string[] = []

  constructor(name: string) {
    this.#random = randomOf(name)
    this.#queue = name
  }

  async run(): Promise<void> {
    for (let n = 0; n < workersOfWalk; n++) await this.#hire()
    for (let n = 0; n < stepsOfWalk; n++) {
      await this.#step()
      await this.#compare()
    }
    for (const task of this.#tasks) {
      await expectChained(node, task.id)
      const trail = await wholeTrailOf(node, task.id)
      expect(trail.filter((step) => step.startsWith('claim'))).toHaveLength(task.attempt)
      expect(trail.filter((step) => step.startsWith('replay'))).toHaveLength(task.run - 1)
    }
  }

  #step(): Promise<void> {
    const step = this.#random.weighted({
      ...{ submit: 3, claim: 10, report: 10, lateReport: 3, cancel: 3, replay: 4, edit: 6 },
      ...{ promote: 5, beat: 1, die: 2, deadline: 2, watch: 1 },
    })
    const random = this.#random
    if (step === 'submit') return this.#submit()
    if (step === 'claim') return this.#claim()
    if (step === 'die') return this.#die()
    if (step === 'beat') return this.#beat()
    if (step === 'watch' || this.#tasks.length === 0) return this.#watch()
    const task = random.pick(this.#tasks)
    if (step === 'report') return this.#report(task, task.attempt)
    if (step === 'lateReport') return this.#report(task, random.integer(1, Math.max(1, task.attempt)))
    if (step === 'promote') return this.#promote(task)
    if (step === 'deadline') return this.#deadline(task)
    if (step === 'edit') return this.#edit(task)
    return this.#ask(step, task)
  }

  async #submit(): Promise<void> {
    if (this.#tasks.length === tasksOfWalk) return
    const maxRetries = this.#random.integer(0, 2)
    const isDelayed = this.#random.next() < 0.3
    const { id } = await node.intake.submit(
      newTask({ queue: this.#queue, maxRetries, delayMs: isDelayed ? 3_600_000 : null }),
    )
    this.#tasks.push(model.newModelTask(id, maxRetries, isDelayed))
    this.log.push(`submit ${this.#tasks.length - 1} with ${maxRetries} retries${isDelayed ? ', delayed' : ''}`)
  }

  async #claim(): Promise<void> {
    const number = this.#random.pick(this.#alive())
    const gate = this.#random.next() < 0.4 ? '!suspect' : ''
    const { state } = this.#worker(number)
    const holdsSuspect = this.#tasks.some((task) => task.worker === number && task.suspect)
    const taken = await node.claim(state, gate === '' ? 2 : 1, { queue: this.#queue, gate })
    const ready = this.#tasks.filter((task) => task.status === 'PENDING' && task.suspect === (gate !== ''))
    const wanted = gate !== '' && holdsSuspect ? 0 : Math.min(ready.length, gate === '' ? 2 : 1)
    this.log.push(`worker ${number} claims ${wanted} of '${gate}'`)
    expect(taken).toHaveLength(wanted)
    for (const lease of taken) {
      const task = this.#tasks.find(({ id }) => id === lease.id)
      if (!task) throw new Error('a strange task was claimed')
      expect(ready).toContain(task)
      expect(lease.payload).toBe(task.payload)
      model.claim(task, number)
      this.#leases.set(`${task.id} ${task.attempt}`, encodeLease(lease))
    }
  }

  /** The report of an attempt, of the current one or of an earlier one, by the worker that had it. */
  async #report(task: model.ModelTask, attempt: number): Promise<void> {
    const verb = this.#random.pick(['succeed', 'fail', 'retry', 'snooze', 'release', 'stop'] as const)
    const holder = task.holders.get(attempt)
    const lease = this.#leases.get(`${task.id} ${attempt}`)
    if (holder === undefined || lease === undefined) return
    const isCurrent = task.status === 'RUNNING' && task.attempt === attempt
    this.log.push(`worker ${holder} says ${verb} of task ${this.#nameOf(task)}, attempt ${attempt}`)
    const [answer] = await node.reports.report(this.#worker(holder).state, [
      reportOf({ id: task.id, lease }, words[verb]),
    ])
    if (!isCurrent) return // accepted only as the repeat of what was said: nothing may change
    model.report(task, verb)
    expect(answer).toEqual({ id: task.id, accepted: true, status: task.status })
  }

  async #ask(what: 'cancel' | 'replay', task: model.ModelTask): Promise<void> {
    this.log.push(`${what} task ${this.#nameOf(task)}`)
    const isDone = await node.tasks[what](task.id, null, { kind: 'api' }).then(
      () => true,
      () => false,
    )
    expect(isDone).toBe(what === 'cancel' ? model.cancel(task) : model.replay(task))
  }

  async #edit(task: model.ModelTask): Promise<void> {
    const due = this.#random.pick(['stays', 'stays', 'now', 'later'] as const)
    const edit = { payload: `{"n":${this.#random.integer(2, 99)}}`, maxRetries: this.#random.integer(0, 2), due }
    this.log.push(`edit task ${this.#nameOf(task)}: ${JSON.stringify(edit)}`)
    const when = { stays: {}, now: { scheduledAtMs: null }, later: { scheduledAtMs: Date.now() + 3_600_000 } }[due]
    const { payload, maxRetries } = edit
    const change = { edit: { payload, maxRetries, ...when }, actor: { kind: 'api' as const } }
    const isDone = await node.tasks.edit(task.id, null, change).then(
      () => true,
      () => false,
    )
    expect(isDone).toBe(model.edit(task, edit))
  }

  async #promote(task: model.ModelTask): Promise<void> {
    const isDue = this.#random.next() < 0.8
    this.log.push(`promote task ${this.#nameOf(task)}${isDue ? ', due' : ''}`)
    const isWaiting = task.status === 'SCHEDULED' || task.status === 'RETRYING'
    if (isDue && isWaiting) await passDue(node, task.id)
    const { ready } = await node.stores.timers.promote([{ id: task.id, handoff: null, epoch: 1 }])
    expect(ready).toHaveLength(isDue && isWaiting ? 1 : 0)
    if (ready.length > 0) task.status = 'PENDING'
  }

  async #beat(): Promise<void> {
    const number = this.#random.integer(0, this.#workers.length - 1)
    const { state, isAlive } = this.#worker(number)
    this.log.push(`worker ${number} beats`)
    const beats = await node.stores.sessions.beat([{ session: state.row.id, lagMs: null, rssBytes: null }])
    expect(beats).toHaveLength(isAlive ? 1 : 0)
  }

  async #die(): Promise<void> {
    const number = this.#random.pick(this.#alive())
    this.log.push(`worker ${number} dies`)
    const worker = this.#worker(number)
    worker.isAlive = false
    await silence(node, worker.state)
    await this.#hire()
    await this.#watch()
  }

  async #deadline(task: model.ModelTask): Promise<void> {
    this.log.push(`task ${this.#nameOf(task)} overruns`)
    await passDeadline(node, task.id)
    if (task.status === 'RUNNING') model.timeOut(task)
    await this.#watch()
  }

  async #watch(): Promise<void> {
    await watch(node)
    for (const task of this.#tasks) {
      if (task.worker !== null && !this.#worker(task.worker).isAlive) model.lose(task)
    }
  }

  async #hire(): Promise<void> {
    this.#workers.push({ state: await node.worker({ queues: [this.#queue] }), isAlive: true })
  }

  async #compare(): Promise<void> {
    const rows = await node.query(
      `select id, status, attempt, failures, crashes, run, cancel_requested_at is not null as marked, snoozes, releases
       from open_tasks where queue = $1
       union all
       select u.id, u.status, u.attempt, u.failures, u.crashes, u.run, false, u.snoozes, u.releases
       from outcomes u join tasks t using (id) where t.queue = $1
       order by id`,
      [this.#queue],
    )
    const expected = this.#tasks.map(({ id, status, attempt, failures, crashes, run, marked, snoozes, releases }) => ({
      ...{ id, status, attempt, failures, crashes, run, marked, snoozes, releases },
    }))
    expect(rows).toEqual(expected.sort((a, b) => (a.id < b.id ? -1 : 1)))
  }

  #alive(): number[] {
    return this.#workers.flatMap(({ isAlive }, number) => (isAlive ? [number] : []))
  }

  #worker(number: number): { readonly state: SessionState; isAlive: boolean } {
    const worker = this.#workers[number]
    if (!worker) throw new Error(`no worker ${number}`)
    return worker
  }

  #nameOf(task: model.ModelTask): number {
    return this.#tasks.indexOf(task)
  }
}

test.each(Array.from({ length: walks }, (_, n) => `walk-${n}`))(
  '%s: the store does what the model does',
  async (name) => {
    const walk = new Walk(name)
    await walk.run().catch((error: Error) => {
      error.message += `\nDULY_SEED=${seed}, ${name}, the steps:\n  ${walk.log.join('\n  ')}`
      throw error
    })
    await expectSound(node)
  },
)
