import { Duly, defineTask, type TaskContext, TaskFailedError, Worker } from '@duly/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { openStore, startHttpNode } from '../../packages/server/src/dispatch/testing/http-node.js'
import { cleanUpLater } from '../support/clean-up.js'

const double = defineTask<number, number, number>('double', { queue: 'children' })

let duly: Duly
/** What the handler of a test's parent does. */
let parent: (context: TaskContext) => unknown = () => null

beforeAll(async () => {
  const store = await openStore()
  const node = await startHttpNode(store.url)
  duly = new Duly({ url: node.url })
  const worker = new Worker(duly, { queues: ['children'], slots: 50 })
    .handle('parent', (_, context) => parent(context))
    .handle(double, (n) => n * 2)
    .handle('deep', async (depth, { submit }) => {
      if (Number(depth) === 0) return 0
      const child = await submit('deep', Number(depth) - 1, { queue: 'children' })
      return 1 + Number(await child.result())
    })
    .handle('broken', () => {
      throw new Error('never works')
    })
  await worker.start()
  cleanUpLater(() => worker.stop({ graceMs: 0 }))
})

const quick = { retry: { delay: 50, jitter: 'none', backoff: 'fixed' } } as const

async function start(work: (context: TaskContext) => unknown, tenant?: string) {
  parent = work
  const workflow = duly.workflow('family', tenant === undefined ? {} : { tenant })
  workflow.task('parent', 'parent', null, { queue: 'children', ...quick })
  return workflow.submit()
}

describe('children of a task of a workflow', () => {
  it('run beside it, are there once over its attempts, and hold the workflow open', async () => {
    const handle = await start(async ({ submit, attempt }) => {
      const children = await Promise.all([1, 2, 2].map((n) => submit(double, n)))
      await submit(double, 50, { delay: 300, name: 'late' })
      const results = await Promise.all(children.map((child) => child.result()))
      if (attempt === 1) throw new Error('once more')
      return { results, replays: children.map(({ isReplay }) => isReplay) }
    })
    expect(await handle.node('parent').result()).toEqual({ results: [2, 4, 4], replays: [true, true, true] })
    const record = await handle.result()
    expect(record).toMatchObject({ status: 'SUCCEEDED', nodes: 5 })
    const children = record.graph.slice(1)
    expect(children.map(({ dependencies, addedBy }) => [dependencies, addedBy])).toEqual(
      children.map(() => [[], 'parent']),
    )
    expect(children.find(({ name }) => name === 'late')).toMatchObject({ status: 'SUCCEEDED' })
    const listed: (string | null)[] = []
    for await (const task of duly.tasks.all({ workflowId: handle.id })) listed.push(task.workflowId)
    expect(listed).toEqual(Array(5).fill(handle.id))
  })

  it('have children of their own', async () => {
    const handle = await start(async ({ submit }) => (await submit('deep', 9, { queue: 'children' })).result())
    expect(await handle.node('parent').result()).toBe(9)
    expect(await handle.result()).toMatchObject({ nodes: 11 })
  })

  it('of which there are a thousand', async () => {
    const handle = await start(async ({ submit }) => {
      const handles = await Promise.all(Array.from({ length: 1_000 }, (_, n) => submit(double, n)))
      return handles.length
    })
    expect(await handle.result()).toMatchObject({ status: 'SUCCEEDED', nodes: 1_001 })
  })

  it('fail the workflow when they fail, also where the handler catches that', async () => {
    const handle = await start(async ({ submit }) => {
      const child = await submit('broken', null, { queue: 'children', retry: { limit: 0 }, name: 'broken' })
      const error = await child.result().catch((error: unknown) => error)
      return error instanceof TaskFailedError
    })
    expect(await handle.node('parent').result()).toBe(true)
    await expect(handle.result()).rejects.toMatchObject({ failed: [{ name: 'broken', status: 'DEAD' }] })
  })

  it('end with the cancellation of the workflow, which takes no more of them', async () => {
    let refused: unknown
    const handle = await start(async ({ submit, signal }) => {
      await submit(double, 1, { delay: '1h', name: 'later' })
      await handle.cancel()
      refused = await submit(double, 2).catch((error: unknown) => error)
      throw signal.reason
    })
    await expect(handle.result()).rejects.toMatchObject({ status: 'CANCELLED' })
    expect(await handle.get()).toMatchObject({ nodes: 2, open: 0, graph: [{}, { name: 'later', status: 'CANCELLED' }] })
    expect(refused).toBeInstanceOf(Error)
  })

  it('keep the tenant of the workflow, also those that are tasks by themselves', async () => {
    const handle = await start(async ({ submit, taskId }) => {
      const own = await submit(double, 1)
      const alone = await submit(double, 1, { idempotencyKey: `${taskId}/alone` })
      const records = await Promise.all([own, alone].map((child) => child.get()))
      return records.map(({ tenantId, workflowId }) => [tenantId, workflowId])
    }, 'acme')
    expect(await handle.node('parent').result()).toEqual([
      ['acme', handle.id],
      ['acme', null],
    ])
  })
})
