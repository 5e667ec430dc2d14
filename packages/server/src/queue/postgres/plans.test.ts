import { partitionOf, type Uuid } from '@duly/domain'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NewWorkflow } from '../../model.js'
import type { Stores } from '../../node/stores.js'
import type { Finish, Reopen } from '../../store/attempt-store.js'
import type { Database } from '../../store/database.js'
import { purgeStart } from '../../store/purge-store.js'
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

/** Runs every statement of the hot path once, so that the pool's connection holds it prepared. */
async function prepareAll({ stores, database, sql }: StoreBench, session: Uuid): Promise<void> {
  const [task] = await addTasks(sql, { expiresInMs: 3_600_000 })
  const id = task?.id as Uuid
  const fence = { id, session, attempt: 1, token: 1n }
  const lane = { queue: 'default', priority: 2, tenant: 'default', gate: '' } as const
  const end = {
    fence,
    condition: 'none',
    transition: 'x',
    actor: 'x',
    reason: null,
    workerName: null,
    error: null,
  } as const
  const counts = { failures: 0, crashes: 0, undelivered: 0 }
  const finish: Finish = { ...end, ...counts, attemptOutcome: null, status: 'SUCCEEDED', result: null }
  const reopen: Reopen = {
    ...end,
    ...counts,
    attemptOutcome: 'failed',
    status: 'PENDING',
    delayMs: null,
    snoozes: 0,
    releases: 0,
    gate: '',
  }
  await stores.queue.lanes(['default'], 10)
  await stores.queue.take({
    takes: [{ lane, sessions: [session], fromMs: Date.now() + 3_600_000 }],
    taskTypes: ['none'],
    token: 1n,
  })
  await stores.queue.setAside(lane, ['work'], 1)
  await stores.attempts.finish([finish])
  await stores.attempts.reopen([reopen])
  await stores.attempts.judgeReported([fence])
  await stores.attempts.judgeOverdue(10)
  await stores.attempts.judgeLost(session, 10)
  await stores.attempts.ended([fence])
  await stores.timers.peek([0], { horizonMs: 0, perPartition: 10, limit: 10 })
  await stores.timers.promote([{ id, handoff: null, epoch: 1 }])
  await stores.timers.expire([{ id, epoch: 1 }])
  const purge = { cutoff: '-infinity', actor: 'x', after: purgeStart, limit: 10 }
  await stores.purges.batch('default', purge)
  await stores.sessions.beat([{ session, lagMs: null, rssBytes: null }])
  await stores.sessions.held([session])
  await stores.sessions.load(session)
  await stores.sessions.serve(session)
  await stores.keys.find([Buffer.alloc(32)])
  await stores.sessions.repeat(session, 0)
  await stores.dependencies.ofTasks([id], 1)
  await stores.sessions.acknowledge([[session, 0]])
  await stores.progress.writeProgress(session, [
    { lease: { ...fence, grant: 1, cancelReason: null }, percent: 1, note: null, checkpoint: null },
  ])
  await prepareCron(stores, database, id)
  await stores.progress.writeLogs(session, [{ lease: fence, number: 1, atMs: 0, level: 'info', message: 'x' }])
  await stores.watch.mark()
  await stores.watch.endDead()
  await stores.watch.deadHolders()
  await stores.intake.standing([id])
  await prepareWorkflows({ stores, database }, id)
  await database.withHot(async (client) => {
    const row = { id, partition: partitionOf(id), handoff: null, task: aTask() }
    await client.query('begin')
    await stores.intake.insertKeys(client, [row])
    await stores.intake.keyHolders(client, [row])
    await client.query('savepoint s')
    // the id is taken: prepared all the same
    await stores.intake.insert(client, [row], 0).catch(() => {})
    await client.query('rollback')
  })
}

/** The statements of a firing belong to one transaction, which is taken back. */
async function prepareCron({ firings }: Stores, database: Database, task: Uuid): Promise<void> {
  const id = '01900000-0000-7000-8000-000000000001' as Uuid
  await firings.look()
  await firings.unblock([id], 10)
  await firings.unblockNext(id, 10)
  await firings.mark([{ id, error: '' }], 1_000)
  await database.withHot(async (client) => {
    await client.query('begin')
    await client.query('update open_tasks set cron_id = $1 where id = $2', [id, task])
    await firings.lockDue(client, 10, null)
    await firings.lockNext(client, 1_000)
    await firings.lockOne(client, id, null)
    await firings.payloads(client, [id])
    await firings.busy(client, [id])
    const firing = { cronId: id, fireAtMs: 0, tenant: 'acme', outcome: 'skipped_overlap', taskId: null } as const
    await firings.record(client, [firing])
    await firings.unrecord(client, [firing])
    // as many as there are: it looks whether there are more
    await firings.cancelOpen(client, [id], 1)
    await firings.move(client, [{ id, fromMs: 0, nextMs: 1, wakeAtMs: 1, fired: 0, skipped: 0, last: null }])
    await firings.triggered(client, id, task)
    await client.query('rollback')
  })
}

/** Within a transaction that is taken back. */
async function prepareWorkflows(
  { stores, database }: Pick<StoreBench, 'stores' | 'database'>,
  id: Uuid,
): Promise<void> {
  const { settle, workflows, workflowChanges } = stores
  const workflow: NewWorkflow = {
    ...{ tenant: 'default', boundTo: null, name: 'w', nodes: [], scheduledAtMs: null, metadata: null },
    ...{ idempotencyKey: 'key', requestHash: Buffer.alloc(32), traceparent: null },
    failurePolicy: 'fail_fast',
  }
  const end = { id, workflowId: id, kind: 'succeeded', isNoted: false } as const
  await settle.unsettled(10)
  await workflows.standing([id])
  await database.withHot(async (client) => {
    await client.query('begin')
    await workflows.keyHolders(client, [{ id, workflow, nodes: [] }])
    await workflows.insertNodes(client, [], 0)
    await settle.lockOf(client, [id])
    await settle.lockOne(client, id, null)
    await settle.passOn(client, [end])
    await settle.putOff(client, [])
    await settle.takeUnsettled(client, id, 10)
    await settle.unblock(client, [id], 0)
    await settle.endWaiting(client, [{ id, how: 'skip', reason: 'skipped' }], { actor: 'x', slot: 0 })
    await settle.lockOpen(client, [id])
    await settle.mark(client, [id], { actor: 'x', reason: 'x' })
    await settle.verdictFacts(client, [id])
    await settle.tally(client, [])
    await workflowChanges.requestCancel(client, id, 'x')
    await workflowChanges.graph(client, id)
    await workflowChanges.reopen(client, [], { actor: 'x', slot: 0 })
    await workflowChanges.lockAdder(client, id, { id, attempt: 1, token: 1n })
    await workflowChanges.findNodes(client, id, ['x'])
    await workflowChanges.countEnded(client, [id])
    // no workflow without a node: prepared all the same
    await workflows.insertWorkflows(client, [{ id, workflow, nodes: [] }]).catch(() => {})
    await client.query('rollback')
  })
}

function aTask() {
  return {
    tenant: 'default',
    taskType: 'work',
    queue: 'default',
    priority: 2,
    payload: '{}',
    metadata: null,
    tags: [],
    scheduledAtMs: null,
    delayMs: null,
    expiresAtMs: null,
    maxRetries: 3,
    backoff: 'fixed',
    jitter: 'none',
    retryDelayMs: 100,
    retryMaxDelayMs: 100,
    timeoutMs: 1_000,
    resultTtlMs: null,
    concurrencyKey: null,
    idempotencyKey: 'key',
    requestHash: Buffer.alloc(32),
    traceparent: null,
  } as const
}

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
    // as many as workers live now
    if (line.includes('worker_sessions_live')) return false
    if (lines[index - 1]?.trim().endsWith('Limit')) return false
    return !(scan[1]?.startsWith('Index') && lines[index + 1]?.includes('Index Cond'))
  })
}
