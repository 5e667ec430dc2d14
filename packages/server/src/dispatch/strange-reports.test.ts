import { beforeAll, describe, expect, it } from 'vitest'
import { type HttpNode, openStore, type RawWorker, startHttpNode, type WireGrant } from './testing/http-node.js'

let node: HttpNode
beforeAll(async () => {
  const { url } = await openStore()
  node = await startHttpNode(url)
})

let queues = 0

/** A worker with some tasks running. */
async function running(count: number): Promise<{ worker: RawWorker; grants: WireGrant[]; queue: string }> {
  const queue = `q${queues++}`
  const worker = await node.api.worker({ queues: [queue], slots: 50 })
  await node.api.submitBatch(Array.from({ length: count }, () => ({ queue })))
  const grants: WireGrant[] = []
  while (grants.length < count) grants.push(...(await worker.poll(count - grants.length, { wait: 30 })))
  return { worker, grants, queue }
}

const success = { outcome: 'succeeded', result: null }

describe('a report', () => {
  it('without the lease is refused, whatever it says, and leaves the task as it is', async () => {
    const { worker, grants } = await running(1)
    const [{ task_id, lease }] = grants as [WireGrant]
    const wrong = [
      'nonsense',
      '1-0000000000000001',
      '2147483647-7fffffffffffffff',
      lease.replace(/^1-/, '2-'),
      `${lease} `,
    ]
    const results = await worker.report(
      wrong.map((each) => ({ task_id, lease: each })),
      success,
    )
    expect(results.every((result) => !result.accepted && result.code === 'lease_lost')).toBe(true)
    const stranger = await node.api.worker()
    expect(await stranger.report([{ task_id, lease }])).toMatchObject([{ accepted: false, code: 'lease_lost' }])
    expect(await node.api.get(task_id)).toMatchObject({ status: 'RUNNING' })
    expect(await worker.report(grants)).toMatchObject([{ accepted: true, status: 'SUCCEEDED' }])
  })

  it('in one batch with wrong ones is taken', async () => {
    const { worker, grants } = await running(5)
    const mixed = grants.flatMap((grant) => [grant, { task_id: grant.task_id, lease: '1-00000000000000aa' }])
    const results = await worker.report(mixed)
    expect(results.map((result) => result.accepted)).toEqual(mixed.map((_, index) => index % 2 === 0))
  })

  it('said twice in one batch counts once and is answered alike', async () => {
    const { worker, grants } = await running(1)
    const results = await worker.report([...grants, ...grants, ...grants])
    expect(results).toEqual(Array(3).fill(results[0]))
    expect(results[0]).toMatchObject({ accepted: true, status: 'SUCCEEDED' })
  })

  it('repeated later is answered alike, for every outcome', async () => {
    const outcomes = [
      success,
      { outcome: 'failed', error: { message: 'a' } },
      { outcome: 'failed', error: { message: 'b', retryable: false } },
      { outcome: 'snoozed', delay_seconds: 3_600 },
    ]
    const { worker, grants } = await running(outcomes.length)
    for (const [index, outcome] of outcomes.entries()) {
      const grant = grants[index] as WireGrant
      const first = await worker.report([grant], outcome)
      expect(first).toMatchObject([{ accepted: true }])
      expect(await worker.report([grant], outcome)).toEqual(first)
    }
  })

  it('with the largest delays is taken', async () => {
    const { worker, grants } = await running(2)
    const tenYears = 10 * 365 * 86_400
    const [a, b] = grants as [WireGrant, WireGrant]
    expect(await worker.report([a], { outcome: 'snoozed', delay_seconds: tenYears })).toMatchObject([
      { accepted: true, status: 'SCHEDULED' },
    ])
    const failed = { outcome: 'failed', error: { message: 'x' }, retry_after_seconds: tenYears }
    expect(await worker.report([b], failed)).toMatchObject([{ accepted: true, status: 'RETRYING' }])
  })

  it('with error texts that no store takes is taken, cleaned, and so are its neighbours', async () => {
    const { worker, grants } = await running(3)
    const reports = grants.map(({ task_id, lease }, index) => ({
      task_id,
      lease,
      outcome: 'failed',
      error: {
        class: index === 1 ? '\ud800'.repeat(300) : 'Plain',
        message: index === 1 ? `nul \u0000 and half \udc00 ${'ü'.repeat(20_000)}` : 'plain',
        stack: index === 1 ? '\u0000'.repeat(100_000) : null,
        retryable: false,
      },
    }))
    const { results } = await worker.exchange(reports, 0)
    expect(results.map((result) => result.status)).toEqual(['FAILED', 'FAILED', 'FAILED'])
    const record = await node.api.get(grants[1]?.task_id ?? '')
    expect(record.error?.message).not.toContain('\u0000')
    expect(Buffer.byteLength(record.error?.message ?? '')).toBeLessThanOrEqual(8_192)
  })

  it('of a result with everything that JSON has comes back exactly', async () => {
    const { worker, grants } = await running(1)
    const result = { big: 1e21, tiny: 1e-300, text: 'ü\u2028"\\', list: [null, true, {}], '': 0 }
    await worker.report(grants, { outcome: 'succeeded', result })
    expect((await node.api.get(grants[0]?.task_id ?? '')).result).toEqual(JSON.parse(JSON.stringify(result)))
  })

  it('that gives up a task nobody cancelled fails it; a cancelled one ends cancelled', async () => {
    const { worker, grants } = await running(2)
    const [a, b] = grants as [WireGrant, WireGrant]
    expect(await worker.report([a], { outcome: 'cancelled' })).toMatchObject([{ accepted: true, status: 'FAILED' }])
    await node.api.call('POST', `/tasks/${b.task_id}/cancel`)
    expect(await worker.report([b], { outcome: 'snoozed', delay_seconds: 1 })).toMatchObject([
      { accepted: true, status: 'CANCELLED' },
    ])
  })
})
