import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { enough, openStore, startHttpNode, timed, until } from '../dispatch/testing/http-node.js'
import { resolveConfig } from './config.js'
import { startNode } from './start-node.js'

let url: string
beforeAll(async () => {
  url = (await openStore()).url
})

const post = (base: string, body: unknown): Promise<Response> =>
  fetch(`${base}/api/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

describe('a node that was told to stop', () => {
  it('is not ready at once, and serves as before until its delay is over', async () => {
    const node = await startHttpNode(url, { drainDelaySeconds: 60 })
    const waiting = node.api.worker({ queues: ['delayed'] }).then((worker) => worker.poll(1, { wait: 30 }))
    await enough()
    const before = await post(node.url, { task_type: 'x' })
    expect(before.headers.get('connection')).not.toBe('close')
    const stopping = timed(() => node.stop())
    const ready = await fetch(`${node.url}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({ code: 'shutting_down' })
    for (let n = 0; n < 5; n += 1) {
      const answer = await post(node.url, { task_type: 'work', queue: 'delayed' })
      expect(answer.status).toBe(202)
      expect(answer.headers.get('connection')).toBe('close')
    }
    expect(await waiting).toHaveLength(1)
    expect(node.hasten()).toBe(true)
    expect((await stopping).ms).toBeLessThan(20_000)
    expect(node.hasten()).toBe(false)
    await expect(fetch(`${node.url}/readyz`)).rejects.toThrow()
  })

  it('answers what it holds when the delay is over, and not before', async () => {
    const node = await startHttpNode(url, { drainDelaySeconds: 0.6 })
    const { task_id } = await node.api.submit({ queue: 'held' })
    const poll = timed(() => node.api.worker().then((worker) => worker.poll(1, { wait: 30 })))
    const wait = timed(() => node.api.get(task_id, 30))
    await enough(200)
    await node.stop()
    expect((await poll).value).toEqual([])
    expect((await wait).value).toMatchObject({ task_id, status: 'PENDING' })
    for (const { ms } of [await poll, await wait]) expect(ms).toBeGreaterThan(600)
  })

  it('has no delay when it serves no clients, nor when a second signal came first', async () => {
    const config = { databaseUrl: url, port: 0, logLevel: 'silent', drainDelaySeconds: 60 }
    const scheduler = await startNode(resolveConfig({ flags: { ...config, roles: 'scheduler' } }))
    expect((await timed(() => scheduler.stop())).ms).toBeLessThan(20_000)
    const node = await startNode(resolveConfig({ flags: config }))
    expect(node.hasten()).toBe(false)
    expect((await timed(() => node.stop())).ms).toBeLessThan(20_000)
  })

  it('tells the others of timers that only it knew, and leaves the deployment', async () => {
    const node = await startHttpNode(url)
    await startHttpNode(url)
    const listener = new pg.Client({ connectionString: url })
    const words: string[] = []
    listener.on('notification', ({ payload = '' }) => void words.push(payload))
    await listener.connect()
    await listener.query('listen duly')
    // nodes tell each other once they know of each other
    await until('the other to be known', async () => {
      await node.api.submit({ queue: 'told' })
      return words.some((word) => word.includes('told'))
    })
    await node.api.submit({ delay_seconds: 1.5 })
    words.length = 0
    await node.stop()
    await until('word of what it gave up', () => words.some((word) => JSON.parse(word).freed === true))
    const { rows } = await listener.query('select count(*)::integer as n from nodes')
    expect(rows).toEqual([{ n: 1 }])
    // the other leads all of them, and with them the timer that only this one knew
    await until('the other to lead', async () => {
      const led = await listener.query(
        'select count(distinct leader)::integer as n, count(leader)::integer as led from partitions',
      )
      return led.rows[0].n === 1 && led.rows[0].led === 64
    })
    await listener.end()
  })
})
