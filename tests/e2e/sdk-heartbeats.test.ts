import { setTimeout as delay } from 'node:timers/promises'
import { Duly, Worker } from '@duly/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { openStore, startHttpNode, until } from '../../packages/server/src/dispatch/testing/http-node.js'
import type { Sql } from '../../packages/server/src/queue/testing/store-bench.js'
import { cleanUpLater } from '../support/clean-up.js'
import { startHttpProxy } from '../support/http-proxy.js'

let duly: Duly
let url: string
let sql: Sql

beforeAll(async () => {
  const store = await openStore()
  sql = store.sql
  const node = await startHttpNode(store.url)
  url = node.url
  duly = new Duly({ url })
  cleanUpLater(async () => duly.close())
})

/** Counts how often this process and its database together did not get to run for longer than a beat. */
function countStalls(beatMs: number): () => Promise<number> {
  let [isOver, stalls] = [false, 0]
  const counting = (async () => {
    while (!isOver) {
      const began = performance.now()
      await sql(`select pg_logical_emit_message(true, 'a test', 'is there')`)
      await delay(20)
      if (performance.now() - began > beatMs) stalls += 1
    }
  })()
  return async () => {
    isOver = true
    await counting
    return stalls
  }
}

describe('a worker with the shortest heartbeat', () => {
  it('keeps one session while its handler runs for many leases', async () => {
    const lost: string[] = []
    const stalls = countStalls(500)
    const worker = new Worker(duly, { queues: ['long'], slots: 2, heartbeat: 500 }).handle('long', async (_, ctx) => {
      await delay(7_000, undefined, { signal: ctx.signal })
      return ctx.attempt
    })
    worker.on('session_lost', () => lost.push(String(worker.workerId)))
    await worker.start()
    cleanUpLater(async () => void (await worker.stop({ graceMs: 1_000 })))
    const attempt = await (await duly.submit('long', null, { queue: 'long' })).result()
    // a lease of 1.5 s can only be over where nothing runs for a while
    expect(lost.length).toBeLessThanOrEqual(await stalls())
    expect(attempt).toBeLessThanOrEqual(1 + lost.length)
  })
})

/** Stands where lines were left out. */
const MISSING = / lines are missing here: more were written than could be sent$/

async function textsOf(id: string): Promise<string[]> {
  const seen: string[] = []
  for await (const { message } of duly.tasks.logs(id)) seen.push(message)
  return seen
}

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
    await until('its lines are there', async () => (await textsOf(handle.id)).length === 2, 120_000)
    const lines = []
    for await (const { line, attempt, level, message } of handle.logs()) lines.push({ line, attempt, level, message })
    expect(lines).toEqual([
      { line: 1, attempt: 1, level: 'info', message: 'first line' },
      { line: 2, attempt: 1, level: 'warn', message: 'second line' },
    ])
  })

  it('is followed while it runs, to its very last line', async () => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const worker = new Worker(duly, { queues: ['told'], slots: 2 }).handle('told', async (_, ctx) => {
      ctx.log('info', 'begins')
      await gate
      for (let n = 1; n <= 3_000; n++) ctx.log('debug', `step ${n}`)
      ctx.log('error', 'ends')
      // an outcome waits for the last lines for a second at most, which is short on a machine with other things to do
      await until('its lines are there', async () => MISSING.test((await textsOf(ctx.taskId)).at(-1) ?? ''), 120_000)
    })
    await worker.start()
    cleanUpLater(async () => void (await worker.stop({ graceMs: 1_000 })))
    const handle = await duly.submit('told', null, { queue: 'told' })
    const seen: string[] = []
    for await (const { message } of handle.logs({ follow: true })) {
      seen.push(message)
      if (message === 'begins') open()
    }
    expect(seen[0]).toBe('begins')
    // a thousand lines wait to be sent at most; what did not fit is told of in its place
    expect(seen.filter((message) => message.startsWith('step')).length).toBeGreaterThanOrEqual(999)
    expect(seen.at(-1)).toMatch(MISSING)
    expect((await handle.explain()).causes[0]).toMatchObject({ code: 'succeeded', attempt: 1 })
  })

  it('arrives once, whatever answers get lost', async () => {
    const proxy = await startHttpProxy(() => url)
    let beats = 0
    proxy.cutWhen(({ path }) => path.endsWith('/heartbeat') && beats++ % 3 < 2)
    const client = new Duly({ url: proxy.url })
    cleanUpLater(async () => client.close())
    const texts = Array.from({ length: 40 }, (_, n) => `step ${n}`)
    const worker = new Worker(client, { queues: ['cut'], slots: 1 }).handle('cut', async (_, ctx) => {
      for (const text of texts) {
        ctx.log('info', text)
        await delay(25)
      }
    })
    await worker.start()
    cleanUpLater(async () => void (await worker.stop({ graceMs: 1_000 })))
    const handle = await duly.submit('cut', null, { queue: 'cut' })
    await handle.result()
    await until('the last line', async () => (await textsOf(handle.id)).includes(texts.at(-1) ?? ''), 120_000)
    expect(await textsOf(handle.id)).toEqual(texts)
    expect(proxy.cuts.length).toBeGreaterThan(2)
  })

  it('arrives though its report was faster', async () => {
    const worker = new Worker(duly, { queues: ['slow'], slots: 1 }).handle('slow', (_, ctx) => {
      setTimeout(() => ctx.log('warn', 'after the end'), 0)
      ctx.log('info', 'the end')
    })
    await worker.start()
    cleanUpLater(async () => void (await worker.stop({ graceMs: 1_000 })))
    const handle = await duly.submit('slow', null, { queue: 'slow' })
    await handle.result()
    await until(
      'the late line',
      async () => {
        const lines = []
        for await (const { message } of handle.logs({ level: 'warn' })) lines.push(message)
        return lines.length === 1
      },
      120_000,
    )
  })
})
