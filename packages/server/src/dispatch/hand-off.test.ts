import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import { addTasks, type Sql } from '../queue/testing/store-bench.js'
import { enough, type HttpNode, openStore, type RawWorker, startHttpNode, timed, until } from './testing/http-node.js'
import { untilItTells, untilItWaits } from './testing/known-states.js'

let url: string
let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  url = store.url
  sql = store.sql
  node = await startHttpNode(url)
})

/** Tests share the node, so each has a queue of its own. */
let queues = 0
const newQueue = (): string => `q${queues++}`

interface Row {
  readonly status: string
  readonly session: string | null
  readonly isSameCommit: boolean
}

/** How the task stands; whether its row is as the submission wrote it. */
async function rowOf(id: string): Promise<Row | undefined> {
  const rows = await sql<Row>(
    `select o.status, o.session, o.xmin = t.xmin as "isSameCommit" from open_tasks o join tasks t on t.id = o.id
     where o.id = $1`,
    [decodeId('task', id)],
  )
  return rows[0]
}

async function waitingWorker(
  queue: string,
  options: { taskTypes?: string[]; slots?: number; wait?: number } = {},
): Promise<{ worker: RawWorker; poll: Promise<readonly { task_id: string }[]> }> {
  const { taskTypes = ['work'], slots = 1, wait = 0.8 } = options
  const worker = await node.api.worker({ queues: [queue], taskTypes })
  // the node has looked at the queue when this is answered: it knows that there is no backlog
  await worker.poll(slots)
  const poll = worker.poll(slots, { wait })
  await untilItWaits(worker)
  return { worker, poll }
}

describe('a submission', () => {
  it('goes to a waiting worker in its own commit, while its answer says PENDING', async () => {
    const queue = newQueue()
    const { worker, poll } = await waitingWorker(queue, { wait: 30 })
    const submitted = await node.api.submit({ queue })
    expect(submitted.status).toBe('PENDING')
    expect(await poll).toMatchObject([{ task_id: submitted.task_id, attempt: 1, grant: 1 }])
    expect(await rowOf(submitted.task_id)).toEqual({
      status: 'RUNNING',
      session: decodeId('worker', worker.id),
      isSameCommit: true,
    })
  })

  it('finds the worker at once', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    const delays: number[] = []
    let handedOff = 0
    for (let n = 0; n < 20; n++) {
      const poll = worker.poll(1, { wait: 30 })
      await untilItWaits(worker)
      const beganMs = performance.now()
      const { task_id } = await node.api.submit({ queue })
      const tasks = await poll
      delays.push(performance.now() - beganMs)
      if ((await rowOf(task_id))?.isSameCommit) handedOff++
      await worker.report(tasks)
    }
    delays.sort((a, b) => a - b)
    // whose poll is there in time is given the task before it waits in a lane
    expect(handedOff).toBeGreaterThan(0)
    console.info(`submit to hand-off: median ${delays[10]?.toFixed(1)} ms, worst ${delays[19]?.toFixed(1)} ms`)
  })

  it.each([
    ['of another type', { task_type: 'other' }],
    ['that has expired', { expires_at: '2020-01-01T00:00:00Z' }],
    ['that is not due', { delay_seconds: 60 }],
  ])('%s does not', async (_, task) => {
    const queue = newQueue()
    const { poll } = await waitingWorker(queue)
    const { task_id } = await node.api.submit({ queue, ...task })
    expect(await poll).toEqual([])
    expect((await rowOf(task_id))?.status ?? 'ended').not.toBe('RUNNING')
  })

  it('to a paused queue waits there until it goes on', async () => {
    const queue = newQueue()
    await sql('insert into queues (name, paused) values ($1, true)', [queue])
    const { worker, poll } = await waitingWorker(queue)
    const { task_id } = await node.api.submit({ queue })
    expect(await poll).toEqual([])
    expect(await rowOf(task_id)).toMatchObject({ status: 'PENDING', session: null })
    await sql('update queues set paused = false where name = $1', [queue])
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ task_id }])
  })

  it('does not go to a session that died with its poll open', async () => {
    const queue = newQueue()
    const { worker, poll } = await waitingWorker(queue)
    await sql("update worker_sessions set live_until = now() - interval '1 second' where id = $1", [
      decodeId('worker', worker.id),
    ])
    const { task_id } = await node.api.submit({ queue })
    expect(await rowOf(task_id)).toMatchObject({ status: 'PENDING', session: null })
    expect(await poll).toEqual([])
    const next = await node.api.worker({ queues: [queue] })
    expect(await next.poll(1, { wait: 30 })).toMatchObject([{ task_id, attempt: 1 }])
  })

  it('never overtakes a backlog, also not on a node that has just started', async () => {
    const queue = newQueue()
    const backlog = await addTasks(sql, { queue, count: 50, stepMs: 1 })
    const fresh = await startHttpNode(url)
    const worker = await fresh.api.worker({ queues: [queue], slots: 500 })
    const taken: string[] = []
    const submitting = (async () => {
      for (let n = 0; n < 10; n++) await fresh.api.submit({ queue })
    })()
    while (taken.length < 60) {
      const tasks = await worker.poll(1, { wait: 30 })
      taken.push(...tasks.map((task) => decodeId('task', task.task_id)))
    }
    await submitting
    expect(taken.slice(0, 50)).toEqual(backlog.map((task) => task.id))
    await fresh.stop()
  })

  it('takes turns among waiting workers', async () => {
    const queue = newQueue()
    const workers = await Promise.all(Array.from({ length: 4 }, () => node.api.worker({ queues: [queue] })))
    // the node has looked at the queue when this is answered
    await workers[0]?.poll(4)
    const polls = workers.map((worker) => worker.poll(4, { wait: 30 }))
    for (const worker of workers) await untilItWaits(worker)
    await Promise.all(Array.from({ length: 4 }, () => node.api.submit({ queue })))
    expect((await Promise.all(polls)).map((tasks) => tasks.length)).toEqual([1, 1, 1, 1])
  })
})

describe('a poll of another node', () => {
  it('hears of a submission, and takes it', async () => {
    const other = await startHttpNode(url)
    await untilItTells(url, node)
    const queue = newQueue()
    const worker = await other.api.worker({ queues: [queue] })
    const delays: number[] = []
    for (let n = 0; n < 5; n++) {
      const poll = worker.poll(1, { wait: 30 })
      await enough(100)
      const { task_id } = await node.api.submit({ queue })
      const { value, ms } = await timed(() => poll)
      expect(value).toMatchObject([{ task_id }])
      delays.push(ms)
      await worker.report(value)
    }
    delays.sort((a, b) => a - b)
    console.info(`submit here, start there: median ${delays[2]?.toFixed(0)} ms, worst ${delays[4]?.toFixed(0)} ms`)
    await other.stop()
  })
})

describe('an exchange', () => {
  it('with reports does not wait for tasks; without any it does', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    const { task_id } = await node.api.submit({ queue })
    const [grant] = await worker.poll(1, { wait: 30 })
    const report = { task_id, lease: grant?.lease ?? '', outcome: 'succeeded', result: { n: 1 } }
    const first = await timed(() => worker.exchange([report], 1, { wait: 60 }))
    expect(first.value).toMatchObject({ results: [{ accepted: true, status: 'SUCCEEDED' }], tasks: [] })
    // of the 60 s for which it would wait
    expect(first.ms).toBeLessThan(45_000)
    // repeated after a lost answer: answered alike
    const again = await worker.exchange([report], 0)
    expect(again.results).toMatchObject([{ accepted: true, status: 'SUCCEEDED' }])
    const waiting = timed(() => worker.exchange([], 1, { wait: 30 }))
    await enough()
    const next = await node.api.submit({ queue })
    expect((await waiting).value.tasks).toMatchObject([{ task_id: next.task_id }])
  })

  it('takes the next task along with the report of the last', async () => {
    const queue = newQueue()
    const worker = await node.api.worker({ queues: [queue] })
    const submitted = await node.api.submitBatch(Array.from({ length: 3 }, () => ({ queue })))
    let tasks = await worker.poll(1, { wait: 30 })
    const order: string[] = []
    await until('all three', async () => {
      order.push(...tasks.map((task) => task.task_id))
      const reports = tasks.map(({ task_id, lease }) => ({ task_id, lease, outcome: 'succeeded', result: null }))
      tasks = (await worker.exchange(reports, 1, { wait: 1 })).tasks
      return order.length === 3
    })
    expect(order).toEqual(submitted.map((task) => task.task_id))
  })
})
