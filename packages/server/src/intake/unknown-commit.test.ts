import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Reservation } from '../dispatch/reservation.js'
import { expectSound, openRow } from '../testing/facts.js'
import { startTcpProxy, type TcpProxy } from '../testing/tcp-proxy.js'
import { keyed, newTask, openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'

const store = await openTestStore()
let proxy: TcpProxy
let node: TestNode
let nextReservation: Reservation | null = null
beforeAll(async () => {
  proxy = await startTcpProxy(store.url)
  node = await openTestNode(store.url, {
    number: 1,
    through: proxy.url,
    reserve: () => {
      const reservation = nextReservation
      nextReservation = null
      return reservation
    },
  })
  await node.intake.submit(newTask())
})
afterEach(() => expectSound(store.node))
afterAll(async () => {
  await node.close()
})

const countIn = async (queue: string) => (await store.node.query('select from tasks where queue = $1', [queue])).length

/** How each kind of submission is sent, and the bytes with which its commit is asked for. */
const kinds = {
  'a single task': {
    commit: 'insert_tasks',
    submit: async (queue: string) => [await node.intake.submit(newTask({ queue }))],
  },
  'a task with a key': {
    commit: 'commit',
    submit: async (queue: string) => [await node.intake.submit(keyed(queue, 'a', { queue }))],
  },
  'a batch': {
    commit: 'commit',
    submit: (queue: string) => node.intake.submitBatch([newTask({ queue }), keyed(queue, 'a', { queue })]),
  },
} as const

for (const [what, { commit, submit }] of Object.entries(kinds)) {
  describe(what, () => {
    const queue = (when: string) => `${when}-${what.replaceAll(' ', '-')}`

    test('is found by its ids when the answer to its commit is lost', async () => {
      const cut = proxy.cut('answer', commit)
      const answers = await submit(queue('after'))
      await cut
      const stored = await store.node.query<{ id: string }>('select id from tasks where queue = $1', [queue('after')])
      expect(answers.map(({ id }) => id).sort()).toEqual(stored.map(({ id }) => id).sort())
      for (const answer of answers) expect(answer).toMatchObject({ status: 'PENDING', replayed: false })
    })

    test('is refused, and not there, when the connection broke before its commit', async () => {
      const cut = proxy.cut('request', commit)
      await expect(submit(queue('before'))).rejects.toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 1 })
      await cut
      expect(await countIn(queue('before'))).toBe(0)
      expect(await submit(queue('before'))).toMatchObject([...(await submit(queue('before')))].map(() => ({})))
    })

    test('whose commit is still under way when the connection breaks is never called refused and then stored', async () => {
      const blocker = await store.node.admin.connect()
      // the names exist before, so that only the submission itself waits
      await node.intake.submitBatch([newTask({ queue: queue('during') })])
      await blocker.query(`begin; lock table ${commit === 'commit' ? 'idempotency_keys' : 'open_tasks'} in share mode`)
      const cut = proxy.cut('delivered', commit === 'commit' ? 'insert_keys' : commit)
      const outcome = submit(queue('during')).then(
        () => 'accepted',
        (error: { code: string }) => error.code,
      )
      await cut
      const said = await Promise.race([outcome, store.node.query('select pg_sleep(1)').then(() => 'waits')])
      await blocker.query('commit')
      blocker.release()
      const finally_ = said === 'waits' ? await outcome : said
      // whatever the backend still does, it has done when nobody but us is connected through the proxy and active
      const active = `select from pg_stat_activity where application_name = 'duly test node' and state <> 'idle' and datname = current_database()`
      while ((await store.node.query(active)).length > 0);
      const wasStored = (await countIn(queue('during'))) > 1
      if (finally_ === 'store_unavailable') expect(wasStored).toBe(false)
      else if (finally_ === 'accepted') expect(wasStored).toBe(true)
      else expect(finally_).toBe('commit_unknown')
    })
  })
}

test('strangers in the group whose answer was lost are all answered', async () => {
  const cut = proxy.cut('answer', 'insert_tasks')
  const answers = await Promise.all(Array.from({ length: 50 }, () => node.intake.submit(newTask({ queue: 'crowd' }))))
  await cut
  expect(new Set(answers.map(({ id }) => id)).size).toBe(50)
  expect(await countIn('crowd')).toBe(50)
})

test('repeats are answered with their first task when the answer to their commit is lost, in a batch and in a group', async () => {
  const first = await node.intake.submit(keyed('lost repeat', 'a', { queue: 'repeats' }))
  const repeat = keyed('lost repeat', 'a', { queue: 'repeats' })
  const inBatch = proxy.cut('answer', 'commit')
  const batch = await node.intake.submitBatch([newTask({ queue: 'repeats' }), repeat])
  await inBatch
  expect(batch).toEqual([expect.objectContaining({ status: 'PENDING', replayed: false }), { ...first, replayed: true }])
  const inGroup = proxy.cut('answer', 'commit')
  const group = await Promise.all([node.intake.submit(newTask({ queue: 'repeats' })), node.intake.submit(repeat)])
  await inGroup
  expect(group[1]).toEqual({ ...first, replayed: true })
  expect(await countIn('repeats')).toBe(3)
})

test('a task that was handed off in the commit whose answer was lost is PENDING to its submitter, as ever', async () => {
  const worker = await node.worker()
  nextReservation = { session: worker.row.id, token: 4711n, settle: () => {} }
  const cut = proxy.cut('answer', 'insert_tasks')
  const answer = await node.intake.submit(newTask({ queue: 'handed' }))
  await cut
  expect(await openRow(node, answer.id)).toMatchObject({ status: 'RUNNING', session: worker.row.id })
  expect(answer).toMatchObject({ status: 'PENDING', replayed: false })
})

test('a COMMIT that is answered with ROLLBACK has failed', async () => {
  const transaction = store.node.database.transaction(async (client) => {
    await client.query(`insert into queues (name) values ('ghost')`)
    await client.query('select 1 / 0').catch(() => {})
  })
  await expect(transaction).rejects.toThrow(/ROLLBACK/)
  expect(await store.node.query(`select from queues where name = 'ghost'`)).toEqual([])
})

test('a database that is not there says so, and its pool recovers', async () => {
  const backends = `select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = 'duly test node' and datname = current_database()`
  await store.node.query(backends)
  const ended = await Promise.allSettled(
    Array.from({ length: 8 }, () => node.intake.submit(newTask({ queue: 'recover' }))),
  )
  const accepted = ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value.id] : []))
  for (const each of ended)
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'store_unavailable' })
  expect(await countIn('recover')).toBe(accepted.length)
  expect(await node.intake.submit(newTask({ queue: 'recover' }))).toMatchObject({ status: 'PENDING' })
})
