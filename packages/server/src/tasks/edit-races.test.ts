import { encodeLease, type Uuid } from '@duly/domain'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Random, randomOf } from '../../../../tests/chaos/load/random.js'
import { claim } from '../queue/postgres/claim-sql.js'
import { hotPlanner, type Statement } from '../store/database.js'
import { instantArray, int2Array, int4Array, int8Array, textArray, uuidArray } from '../store/params.js'
import { repeat } from '../store/session-store.js'
import { promote } from '../store/timer-store.js'
import { expectSound } from '../testing/facts.js'
import { passDue, reportOf, words } from '../testing/lives.js'
import { newTask, openTestNode, openTestStore, type TestNode, testNodeName } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
afterAll(() => expectSound(node))

const actor = { kind: 'api' } as const
const gate = 4711

/** The statement as it is, but for a halt between its snapshot and its first look: at `anchor`, on an advisory lock. */
function halted({ name, text }: Statement, anchor: string): Statement {
  expect(text).toContain(anchor)
  const halt = `(select pg_advisory_xact_lock_shared(${gate})) is not null and `
  return { name: `${name}_halted`, text: text.replace(anchor, `${anchor}${halt}`) }
}

/** Runs the statement up to its halt, then `meanwhile`, then the rest of it. */
async function around<R extends object>(
  statement: Statement,
  values: readonly unknown[],
  meanwhile: () => Promise<unknown>,
): Promise<R[]> {
  const [holder, runner] = [
    new pg.Client(store.url),
    new pg.Client({ connectionString: store.url, options: hotPlanner }),
  ]
  await Promise.all([holder.connect(), runner.connect()])
  try {
    await holder.query('select pg_advisory_lock($1)', [gate])
    const running = runner.query<R>({ ...statement, values: [...values] })
    await expect
      .poll(() => node.query(`select 1 from pg_locks where locktype = 'advisory' and objid = ${gate} and not granted`))
      .toHaveLength(1)
    await meanwhile()
    await holder.query('select pg_advisory_unlock($1)', [gate])
    return (await running).rows
  } finally {
    await Promise.all([holder.end(), runner.end()])
  }
}

describe('what began before an edit was committed never runs the old payload', () => {
  const moved = { payload: '"new"', queue: 'moved' } as const
  const edits = { 'that moves it': moved, 'in its lane': { payload: '"new"' } } as const

  test.each(Object.entries(edits))('a claim around an edit %s', async (title, edit) => {
    const queue = `claim ${title}`.replaceAll(' ', '-')
    const { id } = await node.intake.submit(newTask({ queue }))
    const worker = (await node.worker({ queues: [queue, 'moved'] })).row.id
    const lanes = [textArray([queue, 'moved']), int2Array([2, 2]), textArray(['acme', 'acme']), textArray(['', ''])]
    const sessions = uuidArray([worker, worker])
    const wanted = [
      int4Array([1, 1]),
      instantArray([0, 0]),
      int4Array([1, 2]),
      null,
      sessions,
      1n,
      99,
      1_000,
      testNodeName,
    ]
    const taken = await around(halted(claim, 'where '), [...lanes, ...wanted], () =>
      node.tasks.edit(id, null, { edit, actor }),
    )
    expect(taken).toEqual([])
    expect(await node.tasks.get(id, null)).toMatchObject({ status: 'PENDING', attempts: 0, ...edit })
    const state = await node.worker({ queues: [queue, 'moved'] })
    expect(await node.claim(state, 1, { queue: 'queue' in edit ? 'moved' : queue })).toMatchObject([
      { id, payload: '"new"' },
    ])
  })

  test.each(['handed to a worker', 'to its lane'])('a promotion %s', async (how) => {
    const queue = `promote-${how.length}`
    const { id } = await node.intake.submit(newTask({ queue, delayMs: 60_000 }))
    await passDue(node, id)
    const session = how === 'to its lane' ? null : (await node.worker({ queues: [queue] })).row.id
    const values = [
      uuidArray([id]),
      uuidArray([session]),
      '{1}',
      1_000,
      99,
      textArray([queue]),
      int8Array([1]),
      testNodeName,
    ]
    const rows = await around(halted(promote, 'where o.id = i.id and '), values, () =>
      node.tasks.edit(id, null, { edit: { ...moved, scheduledAtMs: Date.now() - 1_000 }, actor }),
    )
    expect(rows).toEqual([])
    expect(await node.claim(await node.worker({ queues: ['moved'] }), 1, { queue: 'moved' })).toMatchObject([
      { id, payload: '"new"', attempt: 1 },
    ])
  })

  test('a repeat of a grant, though the same session has the task again', async () => {
    const queue = 'repeat'
    const { id } = await node.intake.submit(newTask({ queue }))
    const state = await node.worker({ queues: [queue] })
    const [first] = await node.claim(state, 1, { queue })
    if (!first) throw new Error('nothing was claimed')
    const rows = await around(halted(repeat, 'where '), [state.row.id, 0, 1_000], async () => {
      await node.reports.report(state, [reportOf({ id, lease: encodeLease(first) }, words.release)])
      await node.tasks.edit(id, null, { edit: { payload: '"new"' }, actor })
      expect(await node.claim(state, 1, { queue })).toMatchObject([{ payload: '"new"' }])
    })
    expect(rows).toEqual([])
  })
})

describe('edits that meet', () => {
  let other: TestNode
  let random: Random
  beforeAll(async () => {
    other = await openTestNode(store.url, { number: 1 })
    random = randomOf('edits that meet')
  })
  afterAll(() => other.close())

  /** Starts the deeds in a drawn order, some of them some turns later. */
  async function meet(...deeds: readonly (() => Promise<unknown>)[]): Promise<PromiseSettledResult<unknown>[]> {
    const lagged = deeds.map((deed) => async () => {
      for (let turn = random.integer(0, 3); turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve))
      return deed()
    })
    const results = new Map<number, PromiseSettledResult<unknown>>()
    const order = lagged.map((deed, place) => ({ deed, place, draw: random.next() })).sort((a, b) => a.draw - b.draw)
    await Promise.all(
      order.map(async ({ deed, place }) => {
        const [result] = await Promise.allSettled([deed()])
        if (result) results.set(place, result)
      }),
    )
    return deeds.map((_, place) => results.get(place) as PromiseSettledResult<unknown>)
  }

  async function race(round: (n: number) => Promise<void>): Promise<void> {
    for (let first = 0; first < 80; first += 16)
      await Promise.all(Array.from({ length: 16 }, (_, n) => round(first + n)))
  }

  test('a claim of either lane: edited before it, or refused', () =>
    race(async (n) => {
      const [from, to] = [`from-${n}`, `to-${n}`]
      const { id } = await node.intake.submit(newTask({ queue: from }))
      const worker = await node.worker({ queues: [from, to] })
      const [edited, old, young] = await meet(
        () => node.tasks.edit(id, null, { edit: { queue: to, payload: '"new"' }, actor }),
        () => node.claim(worker, 1, { queue: from }),
        async () => (await other.stores.queue.take(takeOf(worker.row.id, to))).tasks,
      )
      const of = (result: PromiseSettledResult<unknown> | undefined) =>
        result?.status === 'fulfilled' ? (result.value as { payload: string }[]) : []
      if (edited?.status === 'rejected') {
        expect(edited.reason).toMatchObject({ code: 'wrong_state' })
        expect(of(old)).toMatchObject([{ id, payload: '{"n":1}' }])
        return
      }
      expect(of(old)).toEqual([])
      const taken = of(young).length > 0 ? of(young) : await node.claim(worker, 1, { queue: to })
      expect(taken).toMatchObject([{ id, payload: '"new"' }])
    }))

  test('two edits and a cancellation: each lands whole, none after the end', () =>
    race(async (n) => {
      const { id } = await node.intake.submit(newTask({ queue: `two-${n}`, delayMs: 60_000 }))
      const change = (name: string) => ({ edit: { payload: `"${name}"`, queue: `two-${name}` }, actor })
      const results = await meet(
        () => node.tasks.edit(id, null, change('a')),
        () => other.tasks.edit(id, null, change('b')),
        () => node.tasks.cancel(id, null, actor),
      )
      expect(results[2]).toMatchObject({ status: 'fulfilled' })
      const record = await node.tasks.get(id, null)
      const landed = (await node.tasks.events(id, null)).filter(({ transition }) => transition === 'edit').length
      expect(record.status).toBe('CANCELLED')
      expect(landed).toBe(results.filter(({ status }) => status === 'fulfilled').length - 1)
      const name = record.payload.replaceAll('"', '')
      expect(record.queue).toBe(landed === 0 ? `two-${n}` : `two-${name}`)
    }))

  const takeOf = (session: Uuid, queue: string) => ({
    takes: [{ lane: { queue, priority: 2, tenant: 'acme', gate: '' } as const, sessions: [session], fromMs: 0 }],
    taskTypes: null,
    token: 77n,
  })
})
