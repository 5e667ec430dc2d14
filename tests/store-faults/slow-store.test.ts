import { expect, test } from 'vitest'
import { newTask } from '../../packages/server/src/testing/test-node.js'
import { FaultyNode } from './faulty-node.js'

const isLong = process.env.DULY_LONG === '1'

/** A lease is three beats: longer than any pause of the machine, shorter than the test. How slow each statement is, how often the worker beats, and for how long, ms. */
const short: readonly [number, number, number][] = [[300, 3_000, 12_000]]
const paces = isLong ? [...short, [2_000, 5_000, 60_000] as const] : short
const never = new AbortController().signal

test.each(paces)(
  'each statement takes %i ms longer: slower, but nothing is refused and no session dies',
  {
    timeout: 180_000,
  },
  async (slowMs, heartbeatMs, forMs) => {
    const node = await FaultyNode.open()
    const { intake, workers } = node.parts.services
    const registration = { name: 'w', host: null, version: null, queues: ['slow'], taskTypes: ['work'], slots: 50 }
    const { id } = await workers.register({ ...registration, heartbeatMs }, null)
    const session = { id, tenant: null }
    await intake.submit(newTask({ queue: 'slow' }))
    node.faults = () => slowMs
    const endAtMs = performance.now() + forMs
    const again = async (work: () => Promise<unknown>): Promise<void> => {
      while (performance.now() < endAtMs) await work()
    }
    let received = 0
    let done = 0
    let accepted = 0
    const rest = { progress: [], checkpoints: [], logs: [], lagMs: null, rssBytes: null }
    const beat = () =>
      workers.heartbeat(session, { received, leases: [], waitMs: heartbeatMs, ...rest }, AbortSignal.timeout(60_000))
    const work = async (): Promise<void> => {
      const tasks = await workers.poll(session, { slots: 50, waitMs: 100, received }, never)
      for (const { grant } of tasks) received = Math.max(received, grant)
      const reports = tasks.map(
        ({ id: task, lease }) => ({ id: task, lease, outcome: 'succeeded', result: null }) as const,
      )
      const results = await workers.report(session, reports)
      done += results.filter((result) => result.accepted).length
      expect(results.filter((result) => !result.accepted)).toEqual([])
    }
    const submit = async (): Promise<void> => {
      await Promise.all(Array.from({ length: 20 }, () => intake.submit(newTask({ queue: 'slow' }))))
      accepted += 20
    }
    // any refusal and any lost session rejects
    await Promise.all([again(beat), again(work), again(submit), again(() => node.parts.watchdog.runOnce())])
    node.faults = () => null
    expect(accepted).toBeGreaterThan(20)
    expect(done).toBeGreaterThan(20)
    const [row] = await node.query<{ count: number }>('select count(*)::int from tasks')
    expect(row?.count).toBe(accepted + 1)
    await node.close()
  },
)
