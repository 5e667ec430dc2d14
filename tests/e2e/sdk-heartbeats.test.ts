import { setTimeout as delay } from 'node:timers/promises'
import { Duly, Worker } from '@duly/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { openStore, startHttpNode } from '../../packages/server/src/dispatch/testing/http-node.js'
import { cleanUpLater } from '../support/clean-up.js'

let duly: Duly
let sql: Awaited<ReturnType<typeof openStore>>['sql']

beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  const node = await startHttpNode(store.url)
  duly = new Duly({ url: node.url })
  cleanUpLater(async () => duly.close())
})

describe('a worker with the shortest heartbeat', () => {
  it('keeps one session while its handler runs for many leases', async () => {
    const lost: string[] = []
    const worker = new Worker(duly, { queues: ['long'], slots: 2, heartbeat: 500 }).handle('long', async (_, ctx) => {
      await delay(7_000, undefined, { signal: ctx.signal })
      return ctx.attempt
    })
    worker.on('session_lost', () => lost.push(String(worker.workerId)))
    await worker.start()
    cleanUpLater(async () => void (await worker.stop({ graceMs: 1_000 })))
    expect(await (await duly.submit('long', null, { queue: 'long' })).result()).toBe(1)
    expect(lost).toEqual([])
  })
})

describe('what a handler writes', () => {
  it('reaches its next attempt and the store, for as long as it holds the lease', async () => {
    const worker = new Worker(duly, { queues: ['notes'], slots: 2 }).handle('notes', async (_, ctx) => {
      if (ctx.attempt > 1) return ctx.checkpoint.value
      ctx.log('info', 'first line')
      ctx.log('warn', 'second line')
      ctx.progress(40, 'nearly half')
      await ctx.checkpoint.set({ page: 12 })
      throw new Error('stops here')
    })
    await worker.start()
    cleanUpLater(async () => void (await worker.stop({ graceMs: 1_000 })))
    const handle = await duly.submit('notes', null, { queue: 'notes', retry: { delay: 50 } })
    expect(await handle.result()).toEqual({ page: 12 })
    const lines = await sql('select line, attempt, level, message from task_logs order by line')
    expect(lines).toEqual([
      { line: 1, attempt: 1, level: 'info', message: 'first line' },
      { line: 2, attempt: 1, level: 'warn', message: 'second line' },
    ])
  })
})
