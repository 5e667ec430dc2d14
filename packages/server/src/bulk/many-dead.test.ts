import { expect, test } from 'vitest'
import { type Api, openStore, startHttpNode, timed, until } from '../dispatch/testing/http-node.js'

const isLong = process.env.DULY_LONG === '1'
const count = isLong ? 100_000 : 2_000
const queue = 'dying'

interface WireBulk {
  readonly bulk_id: string
  readonly status: string
  readonly done: number
  readonly skipped: number
}

/** Runs all tasks of the queue once. */
async function runAll(api: Api, outcome: (n: number) => Record<string, unknown>): Promise<void> {
  const worker = await api.worker({ queues: [queue], slots: 500 })
  for (let ran = 0; ran < count; ) {
    const grants = await worker.poll(500, { wait: 30 })
    const reports = grants.map(({ task_id, lease }) => ({ task_id, lease, ...outcome(ran++) }))
    const { results } = await worker.exchange(reports, 0)
    expect(results.filter(({ accepted }) => !accepted)).toEqual([])
    await worker.beat()
  }
  await worker.leave()
}

const hosts = 20
const failure = (n: number) => ({
  outcome: 'failed',
  error: {
    class: n % 2 ? 'Timeout' : 'Refused',
    message: `no answer from host-${n % hosts} for order ${n} after ${n}.5 s`,
  },
})

test(`${count} tasks die, are grouped, listed page by page and run again`, {
  timeout: isLong ? 900_000 : 120_000,
}, async () => {
  const { url, sql } = await openStore()
  const { api } = await startHttpNode(url)
  for (let sent = 0; sent < count; sent += 10_000) {
    const size = Math.min(10_000, count - sent)
    await api.submitBatch(Array.from({ length: size }, () => ({ queue, max_retries: 0 })))
  }
  const dying = await timed(() => runAll(api, failure))

  const summary = await timed(() => api.call('GET', '/dlq/summary'))
  expect(summary.value.body).toMatchObject({
    ...{ letters: count, groups: 2, is_complete: true },
    items: [
      { letters: count / 2, error_pattern: 'no answer from host-<n> for order <n> after <n> s' },
      { letters: count / 2, error_class: expect.stringMatching(/Timeout|Refused/) },
    ],
  })

  const seen = new Set<string>()
  let slowestMs = 0
  for (let cursor: string | null = ''; cursor !== null; ) {
    type Page = { items: { task_id: string }[]; next_cursor: string | null }
    const path: string = `/dlq?queue=${queue}&limit=500${cursor === '' ? '' : `&cursor=${cursor}`}`
    const page = await timed(() => api.call<Page>('GET', path))
    for (const { task_id } of page.value.body.items) seen.add(task_id)
    slowestMs = Math.max(slowestMs, page.ms)
    cursor = page.value.body.next_cursor
  }
  expect(seen.size).toBe(count)

  const { body } = await api.call<WireBulk>('POST', `/dlq/retry-all?queue=${queue}`)
  const replaying = await timed(() =>
    until(
      'the end of the operation',
      async () => {
        const record = await api.call<WireBulk>('GET', `/bulk-operations/${body.bulk_id}?wait_seconds=5`)
        return record.body.status !== 'RUNNING'
      },
      600_000,
    ),
  )
  expect((await api.call('GET', `/bulk-operations/${body.bulk_id}`)).body).toMatchObject({
    ...{ status: 'SUCCEEDED', matched: count, done: count, skipped: 0, failed: 0 },
  })
  expect((await api.call('GET', '/dlq/summary')).body).toMatchObject({ letters: 0, groups: 0, items: [] })
  await runAll(api, () => ({ outcome: 'succeeded', result: null }))
  const [left] = await sql(`select count(*)::integer as dead, (select count(*)::integer from open_tasks) as open
    from outcomes where status <> 'SUCCEEDED'`)
  expect(left).toEqual({ dead: 0, open: 0 })
  console.info(
    `${count} dead: died in ${(dying.ms / 1_000).toFixed(1)} s, summary ${summary.ms.toFixed(0)} ms, slowest page of 500 ` +
      `${slowestMs.toFixed(0)} ms, run again in ${(replaying.ms / 1_000).toFixed(1)} s`,
  )
})
