import { decodeId } from '@duly/domain'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { openStore, startHttpNode, until } from '../dispatch/testing/http-node.js'
import { untilItTells } from '../dispatch/testing/known-states.js'

describe('an api node and a scheduler node', () => {
  it('start a delayed task at its time: one takes it, the other promotes it, the first gives it out', async () => {
    const { url, sql } = await openStore()
    const api = await startHttpNode(url, { roles: 'api' })
    await startHttpNode(url, { roles: 'scheduler' })
    await untilItTells(url, api)
    await untilItTells(url, api, { delay_seconds: 0.05 })
    const worker = await api.api.worker()
    const latenessOfNext = async (): Promise<number> => {
      const poll = worker.poll(1, { wait: 30 })
      const { task_id } = await api.api.submit({ delay_seconds: 0.1 + Math.random() * 0.2 })
      const tasks = await poll
      expect(tasks).toMatchObject([{ task_id }])
      const [row] = await sql<{ ms: number }>(
        `select date_part('epoch', o.started_at - t.scheduled_at) * 1000 as ms
         from open_tasks o join tasks t on t.id = o.id where o.id = $1`,
        [decodeId('task', task_id)],
      )
      await worker.report(tasks)
      return row?.ms ?? Number.NaN
    }
    // by itself the scheduler looks every 2.5 s; a machine that is short of time for a while is given another while
    let medianMs = Number.POSITIVE_INFINITY
    for (let round = 0; round < 4 && medianMs >= 500; round++) {
      const lateness: number[] = []
      for (let n = 0; n < 8; n++) lateness.push(await latenessOfNext())
      lateness.sort((a, b) => a - b)
      expect(lateness[0]).toBeGreaterThanOrEqual(0)
      medianMs = lateness[4] ?? Number.NaN
      console.info(
        `promoted by another node: median ${medianMs.toFixed(0)} ms late, worst ${lateness[7]?.toFixed(0)} ms`,
      )
    }
    expect(medianMs).toBeLessThan(500)
  })

  it('say no word of tasks that the other finds in time by itself', async () => {
    const { url } = await openStore()
    const api = await startHttpNode(url, { roles: 'api' })
    await startHttpNode(url, { roles: 'scheduler' })
    await untilItTells(url, api)
    const listener = new pg.Client({ connectionString: url })
    const words: string[] = []
    listener.on('notification', ({ payload = '' }) => void words.push(payload))
    await listener.connect()
    await listener.query('listen duly')
    const timersTold = (): number => words.filter((word) => typeof JSON.parse(word).timers === 'number').length
    for (let n = 0; n < 20; n++) await api.api.submit({ delay_seconds: 86_400 })
    await api.api.submit({ delay_seconds: 1 })
    await until('word of the near one', () => timersTold() > 0)
    expect(timersTold()).toBe(1)
    await listener.end()
  })
})

describe('a node without the role api', () => {
  it('answers probes and scrapers, and says of all else where it belongs', async () => {
    const { url } = await openStore()
    const node = await startHttpNode(url, { roles: 'scheduler', drainDelaySeconds: 60 })
    for (const path of ['/healthz', '/readyz', '/metrics'])
      expect(await fetch(`${node.url}${path}`), path).toMatchObject({ status: 200 })
    for (const path of ['/', '/docs', '/openapi.json', '/api/v1/queues', '/api/v1/tasks/x']) {
      const answer = await fetch(`${node.url}${path}`)
      expect(answer, path).toMatchObject({ status: 503 })
      expect(answer.headers.get('retry-after'), path).toBe('1')
      expect(await answer.json(), path).toMatchObject({ code: 'not_served_here' })
    }
    expect(await node.api.call('POST', '/tasks', { task_type: 'a' })).toMatchObject({ status: 503 })
    expect(await fetch(`${node.url}/nowhere`)).toMatchObject({ status: 404 })
  })
})
