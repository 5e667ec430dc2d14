import { systemClock } from '@duly/domain'
import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { newTask, openTestStore } from '../testing/test-node.js'
import { Dispatcher } from './dispatcher.js'
import type { Reservation } from './reservation.js'
import type { SessionState } from './session-state.js'
import { Sessions } from './sessions.js'
import { until } from './testing/http-node.js'

const store = await openTestStore({ reserve: (task) => current?.dispatcher.reserve(task) ?? null })
/** The desk that the node's submissions ask for a waiting worker. */
let current: Desk | null = null

let desks = 0

/** A dispatcher on the real store, workers of one queue, and what became of their polls and of the slots that were promised. */
class Desk {
  readonly queue = `desk-${desks++}`
  readonly sessions: Sessions
  readonly dispatcher: Dispatcher
  readonly states: SessionState[] = []
  /** Polls that were not answered yet. */
  open = 0
  /** The tokens under which each task was given out. */
  readonly given = new Map<string, Set<bigint>>()
  readonly promises: Reservation[] = []
  readonly #aborts = new Map<SessionState, AbortController>()
  readonly #submissions: Promise<unknown>[] = []

  constructor() {
    const { stores, minter, storeClock } = store.node
    const clock = systemClock
    this.sessions = new Sessions({
      ...{ store: stores.sessions, progress: stores.progress, minter, clock, heartbeatMs: 60_000, leaseMs: 180_000 },
      onLost: (state) => this.dispatcher.drop(state),
      onGap: () => {},
      onLines: () => {},
    })
    this.dispatcher = new Dispatcher({
      ...{ queue: stores.queue, store: stores.sessions, sessions: this.sessions, clock },
      ...{ storeNowMs: () => storeClock.nowMs(), log: pino({ level: 'silent' }), onTaken: () => {} },
      tellOthers: () => {},
      giveBack: async () => [],
    })
    current = this
  }

  async hire(): Promise<SessionState> {
    const registration = { name: 'w', host: null, version: null, queues: [this.queue], taskTypes: ['work'], slots: 9 }
    const { id } = await this.sessions.register({ ...registration, heartbeatMs: null }, null)
    const state = await this.sessions.require({ id, tenant: null })
    this.states.push(state)
    return state
  }

  /** A poll that nothing but an event ends: it would wait for longer than any test runs. */
  poll(state: SessionState, slots: number, waitMs = 3_600_000): Promise<void> {
    const abort = new AbortController()
    this.#aborts.set(state, abort)
    this.open += 1
    const request = { slots, waitMs, received: state.grants.highestSent }
    return this.dispatcher
      .poll(state, request, abort.signal)
      .then(
        (tasks) => {
          for (const { id, token } of tasks) this.given.set(id, (this.given.get(id) ?? new Set()).add(token))
        },
        (error: unknown) => {
          expect(['shutting_down', 'session_lost']).toContain((error as { code?: string }).code)
        },
      )
      .finally(() => {
        this.open -= 1
      })
  }

  promise(): void {
    const promise = this.dispatcher.reserve({ queue: this.queue, taskType: 'work', tenant: 'acme' })
    if (promise) this.promises.push(promise)
  }

  submit(): void {
    this.#submissions.push(store.node.intake.submit(newTask({ queue: this.queue })))
  }

  abort(state: SessionState): void {
    this.#aborts.get(state)?.abort()
  }

  /** Ends all that was begun. */
  async close(): Promise<void> {
    this.dispatcher.close()
    for (const promise of this.promises.splice(0)) promise.settle(null)
    await Promise.all(this.#submissions)
    await until('every poll is answered', () => this.open === 0)
    await until('no slot is promised', () => this.states.every(({ promised }) => promised === 0))
  }
}

/** A worker whose poll waits: one that a slot can be promised of. */
async function waitingDesk(): Promise<{ desk: Desk; state: SessionState }> {
  const desk = new Desk()
  const state = await desk.hire()
  void desk.poll(state, 1)
  await until('the poll waits', () => {
    desk.promise()
    return desk.promises.length > 0
  })
  return { desk, state }
}

describe('a node that closes answers', () => {
  test('a poll all of whose slots are promised to tasks that do not come', async () => {
    const { desk, state } = await waitingDesk()
    // the worker asks anew: its new poll has no slot that is free
    void desk.poll(state, 1)
    await until('the first poll is answered', () => desk.open === 1)
    await desk.close()
  })

  test('the poll of a session that drains', async () => {
    const { desk, state } = await waitingDesk()
    desk.promises.splice(0).map((promise) => promise.settle(null))
    state.isDraining = true
    void desk.poll(state, 1)
    await until('the first poll is answered', () => desk.open === 1)
    await desk.close()
  })

  test('a poll for which the store is being asked', async () => {
    const desk = new Desk()
    const state = await desk.hire()
    state.grants.sent(1)
    const { dispatcher } = desk
    const polling = dispatcher.poll(state, { slots: 1, waitMs: 3_600_000, received: 0 }, new AbortController().signal)
    dispatcher.close()
    expect(await polling).toEqual([])
  })
})

test('a session that is found dead while the store is asked for its poll refuses it', async () => {
  const desk = new Desk()
  const state = await desk.hire()
  state.grants.sent(1)
  const polling = desk.dispatcher.poll(
    state,
    { slots: 1, waitMs: 3_600_000, received: 0 },
    new AbortController().signal,
  )
  desk.sessions.forget(state)
  await expect(polling).rejects.toMatchObject({ code: 'session_lost' })
})

const step = fc.record({
  verb: fc.constantFrom('poll', 'poll', 'quick', 'promise', 'promise', 'submit', 'submit', 'settle', 'abort', 'lose'),
  who: fc.nat(1),
  slots: fc.integer({ min: 0, max: 3 }),
  /** Turns of the event loop before the next step. */
  turns: fc.constantFrom(0, 0, 1, 5),
})

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('whatever comes between: promises end, polls are answered, no task is given out under two leases', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 40 }), async (steps) => {
      const desk = new Desk()
      const workers = [await desk.hire(), await desk.hire()]
      for (const { verb, who, slots, turns } of steps) {
        const state = workers[who] as SessionState
        if (verb === 'poll') void desk.poll(state, slots)
        if (verb === 'quick') void desk.poll(state, slots, 0)
        if (verb === 'promise') desk.promise()
        if (verb === 'submit') desk.submit()
        if (verb === 'settle') desk.promises.shift()?.settle(null)
        if (verb === 'abort') desk.abort(state)
        if (verb === 'lose') {
          desk.sessions.forget(state)
          workers[who] = await desk.hire()
        }
        for (let n = 0; n < turns; n += 1) await turn()
      }
      await desk.close()
      for (const tokens of desk.given.values()) expect(tokens.size).toBe(1)
    }),
    { numRuns: Number(process.env.DULY_RUNS ?? 40) },
  )
})
