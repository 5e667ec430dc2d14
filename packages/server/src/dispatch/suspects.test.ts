import { decodeId } from '@duly/domain'
import { beforeAll, describe, expect, it } from 'vitest'
import { FaultyNode } from '../../../../tests/store-faults/faulty-node.js'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { addTasks, type Sql } from '../queue/testing/store-bench.js'
import { words } from '../testing/lives.js'
import { enough, type HttpNode, openStore, startHttpNode, timed, until } from './testing/http-node.js'
import { untilItWaits } from './testing/known-states.js'

let url: string
let sql: Sql
let node: HttpNode
beforeAll(async () => {
  const store = await openStore()
  url = store.url
  sql = store.sql
  node = await startHttpNode(url)
})

describe('suspects', () => {
  it('go to one worker each, also when the same worker is always first in line', async () => {
    const suspects = await addTasks(sql, { queue: 's1', count: 2, stepMs: 1, gate: '!suspect', crashes: 1 })
    const first = await node.api.worker({ queues: ['s1'], slots: 5 })
    const [held] = await first.poll(1, { wait: 30 })
    expect(decodeId('task', held?.task_id ?? '')).toBe(suspects[0]?.id)
    expect(held).toMatchObject({ suspect: true, attempt: 2 })
    const again = first.poll(4, { wait: 30 })
    await enough(150)
    const second = await node.api.worker({ queues: ['s1'], slots: 5 })
    const { value, ms } = await timed(() => second.poll(5, { wait: 60 }))
    expect(value.map((task) => decodeId('task', task.task_id))).toEqual([suspects[1]?.id])
    // of the 60 s that it would wait
    expect(ms).toBeLessThan(45_000)
    await first.leave()
    expect(await again).toEqual([])
  })

  it('start one after the other on one worker: the next at once when one has ended, however it ended', async () => {
    // a node none of whose duties looks for anything: what comes, comes of the end
    const quiet = await FaultyNode.open()
    cleanUpLater(() => quiet.close())
    const spec = { queue: 's3', count: 5, stepMs: 1, gate: '!suspect', crashes: 1 }
    const suspects = await addTasks((text, values) => quiet.query(text, values), spec)
    const { sessions, services } = quiet.parts
    const registration = { name: 'w', host: null, version: null, queues: ['s3'], taskTypes: ['work'], slots: 5 }
    const { id } = await services.workers.register({ ...registration, heartbeatMs: 60_000 }, null)
    const worker = { id, tenant: null }
    const state = await sessions.require(worker)
    const poll = (received: number) =>
      services.workers.poll(worker, { slots: 4, waitMs: 60_000, received }, new AbortController().signal)
    let held = await poll(0)
    const started = [...held]
    for (const word of [words.succeed, words.retry, words.snooze, words.release]) {
      const next = poll(state.grants.highestSent)
      await until('the poll waits', () => state.isPolling)
      const reports = held.map(({ id: task, lease }) => ({ id: task, lease, ...word }))
      expect(await services.workers.report(worker, reports)).toMatchObject([{ accepted: true }])
      held = await next
      started.push(...held)
    }
    expect(started.map((task) => task.id)).toEqual(suspects.map((task) => task.id))
    expect(started.every(({ suspect }) => suspect)).toBe(true)
  })

  it('hold up no other task', async () => {
    await addTasks(sql, { queue: 's2', count: 5, gate: '!suspect', crashes: 1 })
    const worker = await node.api.worker({ queues: ['s2'], slots: 10 })
    expect(await worker.poll(1, { wait: 30 })).toMatchObject([{ suspect: true }])
    const poll = worker.poll(9, { wait: 30 })
    await enough()
    const { task_id } = await node.api.submit({ queue: 's2' })
    expect(await poll).toMatchObject([{ task_id, suspect: false }])
  })
})

describe('a node that stops', () => {
  it('answers every open poll and beat at once, and hands nothing off any more', async () => {
    const stopping = await startHttpNode(url)
    const workers = await Promise.all(
      Array.from({ length: 8 }, () => stopping.api.worker({ queues: ['stop'], slots: 2 })),
    )
    const polls = workers.map((worker) => worker.tryPoll(2, { wait: 60 }))
    const beats = workers.map((worker) => worker.tryBeat({ wait: 60 }))
    for (const worker of workers) await untilItWaits(worker)
    await enough()
    const submitting = Array.from({ length: 20 }, () => stopping.api.submit({ queue: 'stop' }).catch(() => null))
    const { ms } = await timed(() => stopping.stop())
    // of the 60 s for which they may be held
    expect(ms).toBeLessThan(45_000)
    await Promise.all(beats)
    const answers = await Promise.all(polls)
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200))
    const accepted = (await Promise.all(submitting)).flatMap((task) => (task ? [task.task_id] : []))
    // what was granted and not delivered, and what waits: nothing is lost, the sessions go on over another node
    const seen = new Set(answers.flatMap((answer) => answer.body.tasks.map((task) => task.task_id)))
    for (const worker of workers) {
      worker.moveTo(node.api)
      for (const task of await worker.poll(20, { wait: 1 })) seen.add(task.task_id)
    }
    expect(accepted.filter((id) => !seen.has(id))).toEqual([])
  })
})
