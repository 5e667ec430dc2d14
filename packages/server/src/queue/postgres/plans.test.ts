import type { Uuid } from '@duly/domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prepareAll } from '../testing/hot-statements.js'
import { addSession, addTasks, makeStoreBench, type StoreBench } from '../testing/store-bench.js'

/**
 * The plans of the hot path must be the same on an empty table, right after a bulk load without ANALYZE, and on an analysed
 * one: the statements are looked at as the driver prepared them, on a connection of the hot pool.
 */
describe('plans of the hot path', () => {
  let bench: StoreBench
  let session: Uuid
  beforeAll(async () => {
    bench = await makeStoreBench({ hotConnections: 1 })
    session = await addSession(bench.sql)
    await prepareAll(bench, session)
  })
  afterAll(() => bench.close())

  const settings = [
    'on an empty table',
    'on an empty table after ANALYZE',
    'right after a bulk load',
    'after ANALYZE',
  ] as const
  describe.each(settings)('%s', (setting) => {
    let plans: Map<string, string>
    beforeAll(async () => {
      if (setting === 'right after a bulk load') {
        await bench.sql('alter table open_tasks set (autovacuum_enabled = false)')
        await addTasks(bench.sql, { count: 60_000, stepMs: 1, readyAgoMs: 100_000, expiresInMs: 3_600_000 })
      }
      if (setting.endsWith('after ANALYZE')) await bench.sql('analyze')
      plans = await readPlans(bench)
    })

    it('look at no table as a whole', () => {
      expect(plans.size).toBeGreaterThanOrEqual(20)
      const wholes = [...plans].flatMap(([name, plan]) => wholeReads(plan).map((line) => `${name}: ${line}`))
      expect(wholes).toEqual([])
    })

    it('claim the head of a lane without a sort', () => {
      expect(plans.get('claim')).toMatch(
        /Limit\n\s+->\s+LockRows\n\s+->\s+Index Scan using open_tasks_ready on open_tasks r\n\s+Index Cond: \(\(queue = .*priority = .*tenant = .*gate = .*ready_at >= /,
      )
    })

    it('skip from lane to lane in the index', () => {
      expect(plans.get('lanes')?.match(/Limit\n\s+->\s+Index Only Scan using open_tasks_ready/g)).toHaveLength(2)
    })

    it('read the next timers of a partition in order', () => {
      expect(plans.get('peek_timers')).toMatch(inOrderOf('open_tasks_timers'))
    })

    it('read what is due of recurring tasks in order, and of what waits for older tasks a part', () => {
      expect(plans.get('lock_cron_due')).toMatch(
        /Limit\n\s+->\s+LockRows\n\s+->\s+Index Scan using cron_tasks_due on cron_tasks c\n\s+Index Cond: .*wake_at <= now\(\)/,
      )
      expect(plans.get('look_cron')).toMatch(/Limit\n\s+->\s+Index Only Scan using open_tasks_cron_waiting/)
      expect(plans.get('unblock_cron')).not.toContain('open_tasks_cron_waiting')
      expect(plans.get('unblock_cron_next')).toMatch(
        /Limit\n\s+->\s+Index Only Scan using open_tasks_cron_waiting on open_tasks o\n\s+Index Cond: \(id > /,
      )
    })

    it('read the overdue attempts in order, past nothing that waits', () => {
      expect(plans.get('judge_overdue')).toMatch(inOrderOf('open_tasks_deadline'))
    })

    it('sort only what they were given or have picked', () => {
      for (const [name, plan] of plans) {
        const sorted = [...plan.matchAll(/Sort Key: (.*)/g)].map(([, key]) => `${name}: ${key}`)
        expect(
          sorted.filter(
            (line) =>
              !/^(claim: w_\d\.first, |peek_timers: |insert_keys: |write_logs: |lock_cron_open: m\.id|record_firings: |unblock_cron(_next)?: s(_\d)?\.id|lock_(workflows_of|open_nodes): |count_ended_parents: |read_nodes_standing: |insert_workflows: |read_dependencies: )|: \w+\.queue/.test(
                line,
              ),
          ),
        ).toEqual([])
      }
    })

    it('lock the sessions of a claim in the order of their ids', () => {
      expect(plans.get('claim')).toMatch(/Index Scan using worker_sessions_(live|pkey) on worker_sessions/)
    })
  })

  it('claim 200 of 60,000 quickly', async () => {
    const beganMs = performance.now()
    const { tasks: taken } = await bench.stores.queue.take({
      takes: [
        {
          lane: { queue: 'default', priority: 2, tenant: 'default', gate: '' },
          sessions: Array<Uuid>(200).fill(session),
          fromMs: 0,
        },
      ],
      taskTypes: ['work'],
      token: 1n,
    })
    expect(taken).toHaveLength(200)
    console.info(`claim of 200 out of 60,000: ${(performance.now() - beganMs).toFixed(1)} ms`)
  })
})

/** Nothing but a constant condition stands between the limit and the index. */
const inOrderOf = (index: string): RegExp =>
  new RegExp(
    String.raw`Limit\n(\s+InitPlan 1[^\n]*\n[^\n]*store_marks\n(\s+Disabled: true\n)?\s+->\s+Result\n\s+One-Time Filter[^\n]*\n)?\s+->\s+Index Scan using ${index}`,
  )

/** The plan of each prepared statement of the pool's connection, made anew. */
function readPlans({ database }: StoreBench): Promise<Map<string, string>> {
  return database.withHot(async (client) => {
    await client.query('discard plans')
    const { rows } = await client.query<{ name: string; parameters: number }>(
      `select name, coalesce(array_length(parameter_types, 1), 0) as parameters from pg_prepared_statements
       where name <> ''`,
    )
    const plans = new Map<string, string>()
    for (const { name, parameters } of rows) {
      const values = parameters === 0 ? '' : `(${Array<string>(parameters).fill('null').join(', ')})`
      const { rows: lines } = await client.query<{ 'QUERY PLAN': string }>(
        `explain (costs off) execute ${name}${values}`,
      )
      plans.set(name, lines.map((line) => line['QUERY PLAN']).join('\n'))
    }
    return plans
  })
}

/** Scans of a table that grows which no condition narrows to a part of an index. */
function wholeReads(plan: string): string[] {
  const lines = plan.split('\n')
  return lines.filter((line, index) => {
    const scan = /(Seq|Index|Index Only|Bitmap Heap) Scan.* on (\w+)/.exec(line)
    if (!scan || /^(store_marks|queues|nodes|partitions|unsettled_ends)$/.test(scan[2] ?? '')) return false
    // as many as workers live now, and workflows that are being cancelled
    if (/worker_sessions_live|workflows_sweeping/.test(line)) return false
    if (lines[index - 1]?.trim().endsWith('Limit')) return false
    return !(scan[1]?.startsWith('Index') && lines[index + 1]?.includes('Index Cond'))
  })
}
