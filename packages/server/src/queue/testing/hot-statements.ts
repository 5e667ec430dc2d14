import { partitionOf, type Uuid } from '@duly/domain'
import type { NewWorkflow } from '../../model.js'
import type { Stores } from '../../node/stores.js'
import type { Fence, Finish, Reopen } from '../../store/attempt-store.js'
import type { Database } from '../../store/database.js'
import { purgeStart } from '../../store/purge-store.js'
import { addTasks, type StoreBench } from './store-bench.js'

/** Runs every statement of the hot path once, so that the pool's connection holds it prepared. */
export async function prepareAll({ stores, database, sql }: StoreBench, session: Uuid): Promise<void> {
  const [task] = await addTasks(sql, { expiresInMs: 3_600_000 })
  const id = task?.id as Uuid
  const fence = { id, session, attempt: 1, token: 1n }
  await prepareQueue(stores, session)
  await prepareAttempts(stores, fence)
  await prepareTimers(stores, id)
  await prepareSessions(stores, fence)
  await prepareCron(stores, database, id)
  await stores.progress.writeLogs(session, [{ lease: fence, number: 1, atMs: 0, level: 'info', message: 'x' }])
  await stores.watch.mark()
  await stores.watch.endDead()
  await stores.watch.deadHolders()
  await prepareWorkflows({ stores, database }, id)
  await prepareIntake({ stores, database }, id)
}

async function prepareQueue({ queue }: Stores, session: Uuid): Promise<void> {
  const lane = { queue: 'default', priority: 2, tenant: 'default', gate: '' } as const
  await queue.lanes(['default'], 10)
  const takes = [{ lane, sessions: [session], fromMs: Date.now() + 3_600_000 }]
  await queue.take({ takes, taskTypes: ['none'], token: 1n })
  await queue.setAside(lane, ['work'], 1)
}

async function prepareAttempts({ attempts }: Stores, fence: Fence): Promise<void> {
  const end = {
    ...{ fence, transition: 'x', actor: 'x', reason: null, workerName: null, error: null },
    ...{ condition: 'none' as const, failures: 0, crashes: 0, undelivered: 0 },
  }
  const finish: Finish = { ...end, attemptOutcome: null, status: 'SUCCEEDED', result: null }
  const reopen: Reopen = {
    ...{ ...end, attemptOutcome: 'failed', status: 'PENDING', delayMs: null, snoozes: 0, releases: 0, gate: '' },
  }
  await attempts.finish([finish])
  await attempts.reopen([reopen])
  await attempts.judgeReported([fence])
  await attempts.judgeOverdue(10)
  await attempts.judgeLost(fence.session, 10)
  await attempts.ended([fence])
}

async function prepareTimers({ timers, purges }: Stores, id: Uuid): Promise<void> {
  await timers.peek([0], { horizonMs: 0, perPartition: 10, limit: 10 })
  await timers.promote([{ id, handoff: null, epoch: 1 }])
  await timers.expire([{ id, epoch: 1 }])
  await purges.batch('default', { cutoff: '-infinity', actor: 'x', after: purgeStart, limit: 10 })
}

async function prepareSessions({ sessions, keys, dependencies, progress }: Stores, fence: Fence): Promise<void> {
  const { session } = fence
  await sessions.beat([{ session, lagMs: null, rssBytes: null }])
  await sessions.held([session])
  await sessions.load(session)
  await sessions.serve(session)
  await keys.find([Buffer.alloc(32)])
  await sessions.repeat(session, 0)
  await dependencies.ofTasks([fence.id], 1)
  await sessions.acknowledge([[session, 0]])
  const lease = { ...fence, grant: 1, cancelReason: null }
  await progress.writeProgress(session, [{ lease, percent: 1, note: null, checkpoint: null }])
}

async function prepareIntake({ stores, database }: Pick<StoreBench, 'stores' | 'database'>, id: Uuid): Promise<void> {
  await stores.intake.standing([id])
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
    await settle.passOn(client, [end], true)
    await settle.putOff(client, [])
    await settle.takeUnsettled(client, id, 10)
    await settle.unblock(client, [{ id, handoff: null }], 0)
    await settle.endWaiting(client, [{ id, how: 'skip', reason: 'skipped' }], { actor: 'x', slot: 0 })
    await settle.lockOpen(client, id, 10)
    await settle.keepSweep(client, id, null)
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
