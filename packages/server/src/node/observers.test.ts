import { decodeId } from '@duly/domain'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import type { Hints } from '../coordination/signals.js'
import { type HttpNode, openStore, startHttpNode, until } from '../dispatch/testing/http-node.js'
import { untilItTells, untilItWaits } from '../dispatch/testing/known-states.js'
import { addTasks, type Sql } from '../queue/testing/store-bench.js'

let sql: Sql
/** Its background duties are another node's: it says only what its own API does. */
let node: HttpNode
const words: Hints[] = []

beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  const listener = new pg.Client({ connectionString: store.url })
  listener.on('notification', ({ payload = '' }) => void words.push(JSON.parse(payload)))
  await listener.connect()
  cleanUpLater(() => listener.end())
  await listener.query('listen duly')
  const scheduler = await startHttpNode(store.url, { roles: 'scheduler' })
  cleanUpLater(() => scheduler.stop())
  // it counts the others before it takes its first request
  node = await startHttpNode(store.url, { roles: 'api' })
  await untilItTells(store.url, node)
})

const tells = (kind: 'ready' | 'finished' | 'session', name: string): boolean =>
  words.some((word) => word[kind].includes(name))

const hears = (kind: 'ready' | 'finished' | 'session', name: string): Promise<void> =>
  until(`the word ${kind} ${name}`, () => tells(kind, name))

const uuidOf = (taskId: string): string => decodeId('task', taskId)

describe('the other nodes hear', () => {
  it('of the queue that got a ready task, and of no queue whose task waits for its time', async () => {
    await node.api.submit({ queue: 'later', delay_seconds: 3_600 })
    await node.api.submit({ queue: 'now' })
    await hears('ready', 'now')
    expect(tells('ready', 'later')).toBe(false)
  })

  it('of no queue whose task went straight to a worker that waits here', async () => {
    const worker = await node.api.worker({ queues: ['handed'] })
    const poll = worker.poll(1, { wait: 30 })
    await untilItWaits(worker)
    const { task_id } = await node.api.submit({ queue: 'handed' })
    const tasks = await poll
    expect(tasks).toMatchObject([{ task_id }])
    await worker.report(tasks)
    await hears('finished', uuidOf(task_id))
    expect(tells('ready', 'handed')).toBe(false)
  })

  it.each([
    ['reported', { outcome: 'succeeded', result: 1 }],
    ['failed for good', { outcome: 'failed', error: { class: 'E', message: 'e', retryable: false } }],
  ])('of the end of a task that was %s', async (what, outcome) => {
    const queue = `ends-${what.replaceAll(' ', '-')}`
    const worker = await node.api.worker({ queues: [queue] })
    const { task_id } = await node.api.submit({ queue })
    await worker.report(await worker.poll(1, { wait: 30 }), outcome)
    await hears('finished', uuidOf(task_id))
  })

  it('of the end of a task that was cancelled while it waited', async () => {
    const { task_id } = await node.api.submit({ queue: 'cancelled', delay_seconds: 60 })
    await node.api.call('POST', `/tasks/${task_id}/cancel`)
    await hears('finished', uuidOf(task_id))
  })

  it('of the session whose task is to be cancelled', async () => {
    const worker = await node.api.worker({ queues: ['marked'] })
    const { task_id } = await node.api.submit({ queue: 'marked' })
    await worker.poll(1, { wait: 30 })
    await node.api.call('POST', `/tasks/${task_id}/cancel`)
    await hears('session', decodeId('worker', worker.id))
  })

  it('of the queue that got a task back: released, given back by a worker that left, replayed', async () => {
    for (const queue of ['released', 'left', 'replayed']) {
      const [task] = await addTasks(sql, { queue })
      const worker = await node.api.worker({ queues: [queue] })
      const tasks = await worker.poll(1, { wait: 30 })
      expect(tasks.map(({ task_id }) => uuidOf(task_id))).toEqual([task?.id])
      expect(tells('ready', queue)).toBe(false)
      if (queue === 'released') await worker.report(tasks, { outcome: 'released' })
      else if (queue === 'left') await worker.leave()
      else {
        await worker.report(tasks, { outcome: 'failed', error: { class: 'E', message: 'e', retryable: false } })
        await node.api.call('POST', `/tasks/${tasks[0]?.task_id}/retry`)
      }
      await hears('ready', queue)
    }
  })

  it('of the queue whose suspect ended, so that the next one starts', async () => {
    await addTasks(sql, { queue: 'suspects', count: 2, stepMs: 1, gate: '!suspect', crashes: 1 })
    const worker = await node.api.worker({ queues: ['suspects'], slots: 1 })
    const held = await worker.poll(1, { wait: 30 })
    expect(held).toMatchObject([{ suspect: true }])
    expect(tells('ready', 'suspects')).toBe(false)
    await worker.report(held)
    await hears('ready', 'suspects')
  })

  it('of a timer that is due soon, when this node has none of its own; the scheduler tells of what it promotes', async () => {
    const before = words.length
    await node.api.submit({ queue: 'soon', delay_seconds: 0.3 })
    await until('the word of a timer', () => words.slice(before).some(({ timers }) => timers))
    await hears('ready', 'soon')
  })

  it('of a retry that is due soon, and of no queue until it is', async () => {
    const worker = await node.api.worker({ queues: ['retried'] })
    await addTasks(sql, { queue: 'retried' })
    const before = words.length
    await worker.report(await worker.poll(1, { wait: 30 }), {
      ...{ outcome: 'failed', retry_after_seconds: 0.3 },
      error: { class: 'E', message: 'e', retryable: true },
    })
    await until('the word of a timer', () => words.slice(before).some(({ timers }) => timers))
    await hears('ready', 'retried')
  })
})

it('its figures tell each end, retry and start once', async () => {
  const queue = 'figures'
  const metricOf = async (line: string): Promise<number> => {
    const page = await (await fetch(`${node.url}/metrics`)).text()
    return Number(new RegExp(`^${line.replace(/[{}"]/g, '\\$&')} (\\d+)$`, 'm').exec(page)?.[1] ?? 0)
  }
  const lines = [
    'duly_tasks_submitted_total{task_type="figured",tenant="default"}',
    'duly_tasks_started_total{task_type="figured"}',
    'duly_task_retries_total{task_type="figured"}',
    'duly_tasks_finished_total{task_type="figured",outcome="succeeded"}',
    'duly_tasks_finished_total{task_type="figured",outcome="cancelled"}',
  ]
  const worker = await node.api.worker({ queues: [queue], taskTypes: ['figured'] })
  for (let n = 0; n < 3; n++) await node.api.submit({ queue, task_type: 'figured' })
  const [done, retried, marked] = await worker.poll(3, { wait: 30 })
  if (!done || !retried || !marked) throw new Error('three were ready')
  await worker.report([done])
  await worker.report([retried], { outcome: 'failed', error: { class: 'E', message: 'e', retryable: true } })
  await node.api.call('POST', `/tasks/${marked.task_id}/cancel`)
  await worker.report([marked], { outcome: 'cancelled' })
  expect(await Promise.all(lines.map(metricOf))).toEqual([3, 3, 1, 1, 1])
})
