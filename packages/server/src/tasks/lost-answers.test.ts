import { systemClock, type Uuid } from '@duly/domain'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Keys } from '../access/keys.js'
import { BulkBench } from '../bulk/testing/bulk-bench.js'
import { type CronNode, definition, openCronNode } from '../cron/testing/cron-node.js'
import { expectSound, openRow } from '../testing/facts.js'
import { say, startLife, words } from '../testing/lives.js'
import { startTcpProxy, type TcpProxy } from '../testing/tcp-proxy.js'
import { newTask, openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'
import { Graph, whole } from '../testing/workflows.js'
import { DeadLetters } from './dead-letters.js'
import { Queues } from './queues.js'

// Whoever is told "nothing was changed" repeats what was asked for, and is refused then, or has it twice. So what people ask for is
// answered as it stands, also when the connection breaks under it.
const store = await openTestStore()
const api = { kind: 'api', name: 'tester' } as const
const log = pino({ level: 'silent' })
let proxy: TcpProxy
let node: TestNode
let crons: CronNode
let queues: Queues
let letters: DeadLetters
let keys: Keys
let bulk: BulkBench
beforeAll(async () => {
  proxy = await startTcpProxy(store.url)
  node = await openTestNode(store.url, { number: 1, through: proxy.url })
  crons = await openCronNode(proxy.url, { number: 2 })
  queues = new Queues({
    ...{ store: node.stores.queues, purges: node.stores.purges, clock: systemClock, log, limit: 10_000 },
    ...{ onSwitched: () => {}, onPurged: () => {}, purgeNodes: (ids, by) => node.nodeEnds.purge(ids, by) },
  })
  letters = new DeadLetters({ store: node.stores.deadLetters, tasks: node.tasks })
  keys = new Keys({
    ...{ store: node.stores.keys, clock: systemClock, mint: () => node.minter.mint(), log, onRevoked: () => {} },
    random: () => crypto.getRandomValues(new Uint8Array(32)),
  })
  bulk = new BulkBench(node)
})
afterEach(() => expectSound(store.node))
afterAll(async () => {
  await Promise.all([node.close(), crons.close()])
})

/** A call that somebody makes once: what it is answered, and how often it took effect. */
interface Call {
  readonly call: () => Promise<unknown>
  readonly answer: unknown
  readonly effects: () => Promise<number>
}

interface Operation {
  /** The name of the statement that makes the change. */
  readonly statement: string
  readonly prepare: () => Promise<Call>
}

const count = async (text: string, values: readonly unknown[]): Promise<number> =>
  (await store.node.query(text, values)).length
const made = (id: Uuid, what: string) => () =>
  count('select from task_events where task_id = $1 and transition = $2', [id, what])
const plain = (over: Parameters<typeof newTask>[0] = {}) => store.node.intake.submit(newTask(over))

async function dead(): Promise<Uuid> {
  const life = await startLife(store.node, { maxRetries: 0 })
  await say(store.node, life, words.retry)
  return life.id
}

async function failedGraph(): Promise<Graph> {
  const graph = await Graph.submit(store.node, { a: {} })
  await graph.run(() => words.fail)
  return graph
}

const later = { delayMs: 3_600_000 }
let names = 0
const fresh = (): string => `lost-${names++}`
const cronRows = (text: string, id: Uuid) => () => count(`select from cron_tasks where id = $1 and ${text}`, [id])

const operations: Readonly<Record<string, Operation>> = {
  'the replay of a task': {
    statement: 'replay',
    prepare: async () => {
      const id = await dead()
      const call = () => node.tasks.replay(id, null, api)
      return { call, answer: { id, status: 'PENDING' }, effects: made(id, 'replay') }
    },
  },
  'the replay of a task of a workflow': {
    statement: 'reopen_nodes',
    prepare: async () => {
      const id = (await failedGraph()).idOf('a')
      const call = () => node.tasks.replay(id, null, api)
      return { call, answer: { id, status: 'PENDING' }, effects: made(id, 'replay') }
    },
  },
  'the retry of a workflow': {
    statement: 'reopen_nodes',
    prepare: async () => {
      const { id, ids } = await failedGraph()
      const call = () => node.workflows.retry(id, null, api, whole)
      return { call, answer: { id, status: 'RUNNING' }, effects: made([...ids.values()][0] as Uuid, 'replay') }
    },
  },
  'the retry of a dead letter': {
    statement: 'replay',
    prepare: async () => {
      const id = await dead()
      const call = () => letters.retry(id, null, api)
      return { call, answer: { id, status: 'PENDING' }, effects: made(id, 'replay') }
    },
  },
  'the discard of a dead letter': {
    statement: 'discard',
    prepare: async () => {
      const id = await dead()
      return { call: () => letters.discard(id, null, api), answer: undefined, effects: made(id, 'discard') }
    },
  },
  'an edit': {
    statement: 'edit_task',
    prepare: async () => {
      const { id } = await plain(later)
      const call = () => node.tasks.edit(id, null, { edit: { payload: '{"n":2}' }, actor: api })
      return { call, answer: { id, payload: '{"n":2}' }, effects: made(id, 'edit') }
    },
  },
  'the cancellation of a task that waits': {
    statement: 'cancel_waiting',
    prepare: async () => {
      const { id } = await plain(later)
      const cancelledAtMs = expect.any(Number)
      const call = () => node.tasks.cancel(id, null, api)
      return { call, answer: { id, status: 'CANCELLED', cancelledAtMs }, effects: made(id, 'cancel') }
    },
  },
  'the cancellation of a task that runs': {
    statement: 'request_cancel',
    prepare: async () => {
      const { id } = await startLife(store.node)
      const call = () => node.tasks.cancel(id, null, api)
      return { call, answer: { id, status: 'RUNNING', cancelRequested: true }, effects: made(id, 'request_cancel') }
    },
  },
  'the cancellation of a task of a workflow': {
    statement: 'end_waiting_nodes',
    prepare: async () => {
      const id = (await Graph.submit(store.node, { a: {} })).idOf('a')
      const call = () => node.tasks.cancel(id, null, api)
      return { call, answer: { id, status: 'CANCELLED' }, effects: made(id, 'cancel') }
    },
  },
  'the cancellation of a workflow': {
    statement: 'request_workflow_cancel',
    prepare: async () => {
      const graph = await Graph.submit(store.node, { a: {} })
      const call = () => node.workflows.cancel(graph.id, null, api)
      return { call, answer: { status: 'CANCELLED' }, effects: made(graph.idOf('a'), 'cancel') }
    },
  },
  'the pause of a new queue': {
    statement: 'pause_queue',
    prepare: async () => {
      const name = fresh()
      const effects = () => count('select from queues where name = $1 and paused', [name])
      return { call: () => queues.pause(name, api), answer: { name, paused: true, isNew: true }, effects }
    },
  },
  'the resumption of a queue': {
    statement: 'resume_queue',
    prepare: async () => {
      const name = fresh()
      await queues.pause(name, api)
      const effects = () => count('select from queues where name = $1 and not paused', [name])
      return { call: () => queues.resume(name, api), answer: { name, paused: false }, effects }
    },
  },
  'the purge of a queue': {
    statement: 'purge_queue',
    prepare: async () => {
      const queue = fresh()
      const { id } = await plain({ queue })
      const answer = { cancelled: 1, remaining: 0, isComplete: true }
      return { call: () => queues.purge(queue, api), answer, effects: made(id, 'cancel') }
    },
  },
  'the definition of a recurring task': {
    statement: 'create_cron_task',
    prepare: async () => {
      const wanted = definition()
      const effects = () => count('select from cron_tasks where name = $1', [wanted.name])
      return { call: () => crons.cron.put(wanted), answer: { result: 'created' }, effects }
    },
  },
  'the edit of a recurring task': {
    statement: 'replace_cron_task',
    prepare: async () => {
      const { id } = await crons.cron.create(definition())
      const call = () => crons.cron.edit(id, null, { enabled: false, template: {} })
      return { call, answer: { id, status: 'PAUSED' }, effects: cronRows('not enabled', id) }
    },
  },
  'the removal of a recurring task': {
    statement: 'remove_cron_task',
    prepare: async () => {
      const { id } = await crons.cron.create(definition())
      const effects = async () => 1 - (await cronRows('true', id)())
      return { call: () => crons.cron.remove(id, null), answer: undefined, effects }
    },
  },
  'the trigger of a recurring task': {
    statement: 'cron_triggered',
    prepare: async () => {
      const { id } = await crons.cron.create(definition())
      const effects = () => count('select from tasks where cron_id = $1', [id])
      return { call: () => crons.cron.trigger(id, null), answer: { status: 'PENDING' }, effects }
    },
  },
  'the making of a key': {
    statement: 'create_key',
    prepare: async () => {
      const name = fresh()
      const call = () => keys.create({ name, scopes: ['read'], tenant: null, expiresAtMs: null }, api)
      const effects = () => count('select from api_keys where name = $1', [name])
      return { call, answer: { record: { name }, secret: expect.any(String) }, effects }
    },
  },
  'the start of an operation on many tasks': {
    statement: 'create_bulk',
    prepare: async () => {
      const tag = fresh()
      const effects = () => count('select from bulk_operations where filter like $1', [`%"${tag}"%`])
      return { call: () => bulk.start('cancel', { tag }), answer: { status: 'RUNNING' }, effects }
    },
  },
}

describe.each(Object.entries(operations))('%s', (_, { statement, prepare }) => {
  const expectAnswer = (said: unknown, { answer }: Call): void =>
    answer === undefined ? expect(said).toBeUndefined() : expect(said).toMatchObject(answer as object)

  test('is answered as made when the answer to its commit is lost', async () => {
    const call = await prepare()
    const cut = proxy.cut('answer', statement)
    const said = await call.call()
    await cut
    expectAnswer(said, call)
    expect(await call.effects()).toBe(1)
  })

  test('is refused, and not made, when the connection breaks before its commit', async () => {
    const call = await prepare()
    const cut = proxy.cut('request', statement)
    await expect(call.call()).rejects.toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 1 })
    await cut
    expect(await call.effects()).toBe(0)
    expectAnswer(await call.call(), call)
    expect(await call.effects()).toBe(1)
  })

  test('is unknown when its answer is lost and the store can not be asked', async () => {
    const call = await prepare()
    const asked = statement === 'cron_triggered' ? 'standing' : 'transaction_end'
    const cut = proxy.cut('answer', statement).then(() => proxy.cut('request', asked))
    await expect(call.call()).rejects.toMatchObject({ code: 'commit_unknown', retryAfterSeconds: 1 })
    await cut
    expect(await call.effects()).toBe(1)
  })
})

test('an edit whose commit is under way when its connection breaks is never called refused and then made', async () => {
  const { id } = await plain(later)
  const blocker = await store.node.admin.connect()
  await blocker.query('begin')
  await blocker.query('select from tasks where id = $1 for update', [id])
  const cut = proxy.cut('delivered', 'edit_task')
  const said = node.tasks.edit(id, null, { edit: { priority: 1 }, actor: api })
  await Promise.all([cut, expect(said).rejects.toMatchObject({ code: 'store_unavailable' })])
  await blocker.query('commit')
  blocker.release()
  expect(await made(id, 'edit')()).toBe(0)
  expect(await openRow(store.node, id)).toMatchObject({ status: 'SCHEDULED' })
})

test('a purge that loses the store in the middle tells what it cancelled, and is complete when it is called again', async () => {
  const queue = fresh()
  const tasks = await store.node.intake.submitBatch(Array.from({ length: 1_500 }, () => newTask({ queue })))
  const cut = new Promise<void>((done) => {
    const batch = node.stores.purges.batch.bind(node.stores.purges)
    let batches = 0
    node.stores.purges.batch = async (...args) => {
      if (++batches === 2) void proxy.cut('request', 'purge_queue').then(done)
      return batch(...args)
    }
  })
  expect(await queues.purge(queue, api)).toEqual({ cancelled: 1_000, remaining: 500, isComplete: false })
  await cut
  expect(await queues.purge(queue, api)).toEqual({ cancelled: 500, remaining: 0, isComplete: true })
  const [first, last] = [tasks[0]?.id, tasks.at(-1)?.id] as [Uuid, Uuid]
  expect([await made(first, 'cancel')(), await made(last, 'cancel')()]).toEqual([1, 1])
})
