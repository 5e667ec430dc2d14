import { randomFillSync } from 'node:crypto'
import { type Clock, IdMinter, type Lane, systemClock, type TenantScope, type Uuid } from '@duly/domain'
import pg from 'pg'
import { type Logger, pino } from 'pino'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { createDatabase } from '../../../../tests/support/database.js'
import { persistently } from '../../../../tests/support/persistently.js'
import { randomToken } from '../base/random.js'
import { Attempts } from '../dispatch/attempts.js'
import { Dispatcher } from '../dispatch/dispatcher.js'
import type { Reserve } from '../dispatch/hand-offs.js'
import { Reports } from '../dispatch/reports.js'
import type { SessionState } from '../dispatch/session-state.js'
import { Sessions } from '../dispatch/sessions.js'
import { Workers } from '../dispatch/workers.js'
import { Committer } from '../intake/committer.js'
import { Intake } from '../intake/intake.js'
import { Names } from '../intake/names.js'
import type { HeartbeatRequest, NewTask, WorkerRegistration } from '../model.js'
import { makeStores, type Stores } from '../node/stores.js'
import type { TakenTask } from '../queue/port.js'
import { Database } from '../store/database.js'
import type { EditedTask } from '../store/edit-store.js'
import { StoreClock } from '../store/store-clock.js'
import { Tasks } from '../tasks/tasks.js'
import { Waiters } from '../tasks/waiters.js'
import { Watchdog } from '../upkeep/watchdog.js'
import { Additions } from '../workflows/additions.js'
import { WorkflowCommitter } from '../workflows/committer.js'
import { NodeEnds } from '../workflows/node-ends.js'
import { Reopening } from '../workflows/reopening.js'
import type { Settled } from '../workflows/settlement.js'
import { WorkflowSubmission } from '../workflows/submission.js'
import { Workflows } from '../workflows/workflows.js'

export interface TestNodeOptions {
  /** Gives the node its slots in `counters`: nodes on one database need different ones. */
  readonly number?: number
  /** Where the node's own connections go, e.g. a proxy before the database. */
  readonly through?: string
  readonly maxCrashes?: number
  readonly maxNames?: number
  readonly nameShare?: number
  readonly reserve?: Reserve
  readonly clock?: Clock
  /** Silent if absent. */
  readonly log?: Logger
}

export const partitions = 64
/** All test nodes of a store go by one name, so that each may claim for the sessions of the others. */
export const testNodeName = '00000000-0000-7000-8000-00000000000d'
/** The grace of attempts; the stores add 1 s of slack. */
export const graceMs = 5_000

/**
 * Stores and services of a node on a database, without HTTP and without duties: nothing happens in the background, so that a
 * test decides when a pass, a promotion or a claim takes place. `admin` is a pool of the test's own.
 */
export class TestNode {
  readonly admin: pg.Pool
  readonly database: Database
  readonly stores: Stores
  readonly storeClock: StoreClock
  readonly minter: IdMinter
  readonly waiters = new Waiters()
  readonly sessions: Sessions
  readonly attempts: Attempts
  readonly reports: Reports
  readonly workers: Workers
  readonly watchdog: Watchdog
  readonly intake: Intake
  readonly tasks: Tasks
  readonly nodeEnds: NodeEnds
  readonly workflows: Workflows
  /** What was told of workflows. */
  readonly settled: Settled[] = []
  /** What was told of edits. */
  readonly edited: EditedTask[] = []
  /** Sessions that were to be told of a cancellation. */
  readonly toldToCancel: Uuid[] = []

  constructor(url: string, options: TestNodeOptions) {
    const clock = options.clock ?? systemClock
    const log = options.log ?? pino({ level: 'silent' })
    this.admin = new pg.Pool({ connectionString: url, max: 6 })
    this.admin.on('error', () => {})
    this.database = new Database({
      url: options.through ?? url,
      hotConnections: 8,
      generalConnections: 4,
      applicationName: 'duly test node',
      statementTimeoutMs: 15_000,
      onError: () => {},
    })
    this.stores = makeStores(this.database, { nodeNumber: options.number ?? 0, graceMs, node: testNodeName })
    const stores = this.stores
    this.storeClock = new StoreClock(this.database, clock)
    const storeNowMs = (): number => this.storeClock.nowMs()
    this.minter = new IdMinter({ nowMs: storeNowMs, random: (bytes) => void randomFillSync(bytes), partitions })
    const minter = this.minter
    const reserve = options.reserve ?? (() => null)
    const listener = {
      finished: (tasks: readonly { id: Uuid }[]) => this.waiters.finished(tasks.map(({ id }) => id)),
      reopened: () => {},
    }
    this.nodeEnds = new NodeEnds({
      ...{ database: this.database, store: stores.settle, attempts: stores.attempts, slots: stores.workflowSlots.ends },
      workers: { reserve, isAnyoneWaiting: () => options.reserve !== undefined },
      onSettled: (settled) => {
        this.settled.push(settled)
        this.waiters.finished([...settled.ended, ...settled.closed].map(({ id }) => id))
        this.toldToCancel.push(...settled.stopping)
      },
    })
    this.attempts = new Attempts({ store: stores.attempts, nodes: this.nodeEnds, listener })
    this.reports = new Reports({ store: stores.attempts, attempts: this.attempts, clock, random: () => 0.5, lanes: 2 })
    this.sessions = new Sessions({
      ...{ store: stores.sessions, progress: stores.progress, minter, clock, heartbeatMs: 200_000, leaseMs: 600_000 },
      onLost: (state) => dispatcher.drop(state),
      onGap: () => {},
      onLines: () => {},
    })
    const { sessions, attempts, reports } = this
    const onTaken = (): void => {}
    const giveBack = async () => []
    const parts = {
      ...{ queue: stores.queue, store: stores.sessions, sessions, clock, storeNowMs, log, onTaken, giveBack },
      tellOthers: (): void => {},
    }
    const dispatcher = new Dispatcher(parts)
    const workerStores = { attemptStore: stores.attempts, store: stores.sessions, dependencies: stores.dependencies }
    this.workers = new Workers({ sessions, dispatcher, reports, attempts, ...workerStores })
    this.watchdog = new Watchdog({
      ...{ store: stores.watch, attemptStore: stores.attempts, attempts, random: () => 0.5, log },
      maxCrashes: options.maxCrashes ?? 3,
      batch: 500,
      onLost: () => {},
      onTimedOut: () => {},
    })
    const names = new Names(stores.intake, { limit: options.maxNames ?? 10_000, share: options.nameShare ?? 1_000 })
    this.intake = new Intake({
      ...{ minter, partitions, clock, groupSlots: stores.groupSlots, batchSlots: stores.batchSlots },
      committer: new Committer({ database: this.database, store: stores.intake }),
      names,
      reserve,
      onCommitted: () => {},
    })
    const reopening = new Reopening(this.nodeEnds, stores.workflowChanges)
    this.workflows = this.#makeWorkflows({ names, clock, storeNowMs, reopening, reserve })
    this.tasks = new Tasks({
      nodes: {
        cancel: (id, tenant, because) => this.nodeEnds.cancel(id, tenant, because),
        cancelTogether: (ids, because) => this.nodeEnds.cancelTogether(ids, because),
        replay: (id, tenant, actor) => reopening.replay(id, tenant, actor),
      },
      ...{ store: stores.tasks, edits: stores.edits, lists: stores.lists, waiters: this.waiters, onReady: () => {} },
      ensureQueue: (queue, tenant) => names.ensureQueue(queue, tenant),
      onEdited: (task) => void this.edited.push(task),
      onCancelled: ({ id }) => this.waiters.finished([id]),
      onCancelRequested: (session) => void this.toldToCancel.push(session),
    })
  }

  #makeWorkflows(parts: {
    readonly names: Names
    readonly clock: Clock
    readonly storeNowMs: () => number
    readonly reopening: Reopening
    readonly reserve: Reserve
  }): Workflows {
    const { stores, minter, database, nodeEnds, waiters } = this
    const { names, clock, storeNowMs, reopening, reserve } = parts
    const ensureNames: Names['ensure'] = (tasks) => names.ensure(tasks)
    const shared = { database, store: stores.workflows, intake: stores.intake }
    const submission = new WorkflowSubmission({
      committer: new WorkflowCommitter(shared),
      ...{ ensureNames, minter, partitions, clock, onCommitted: () => {}, reserve },
      groupSlots: stores.workflowSlots.groups,
      largeSlots: stores.workflowSlots.large,
    })
    const changes = stores.workflowChanges
    const additions = new Additions({
      ...{ ends: nodeEnds, store: stores.workflows, changes, minter, ensureNames, onCommitted: () => {} },
    })
    return new Workflows({
      ...{
        submission,
        records: stores.workflowRecords,
        changes,
        ends: nodeEnds,
        additions,
        reopening,
        waiters,
        storeNowMs,
      },
    })
  }

  /** One statement on a connection of the test's own. */
  async query<R extends object = Record<string, unknown>>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return (await this.admin.query<R>(text, values as unknown[])).rows
  }

  /** A live session with room for everything, of an unbound key if no tenant is given. */
  async worker(over: Partial<WorkerRegistration> = {}, tenant: TenantScope = null): Promise<SessionState> {
    const served = { queues: ['default'], taskTypes: ['work'], slots: 500 }
    const registration = { name: 'w', host: null, version: null, ...served, heartbeatMs: null, ...over }
    const { id } = await this.sessions.register(registration, tenant)
    return this.sessions.require({ id, tenant })
  }

  /** Claims up to `count` of a lane for the session, as a worker that has acknowledged everything it was given. */
  async claim(state: SessionState, count = 1, lane: Partial<Lane> = {}): Promise<readonly TakenTask[]> {
    const { tasks } = await this.stores.queue.take({
      takes: [{ lane: { ...defaultLane, ...lane }, sessions: Array<Uuid>(count).fill(state.row.id), fromMs: 0 }],
      taskTypes: null,
      token: randomToken(),
    })
    const grants = tasks.map(({ grant }) => grant)
    await this.stores.sessions.acknowledge([[state.row.id, Math.max(0, ...grants)]])
    return tasks
  }

  async close(): Promise<void> {
    await Promise.all([this.database.close(), this.admin.end()])
  }
}

/** A heartbeat that says nothing and is not held open. */
export const quietBeat: HeartbeatRequest = {
  ...{ received: 0, leases: [], waitMs: 0, progress: [], checkpoints: [], logs: [] },
  ...{ lagMs: null, rssBytes: null },
}

/** The lane of `newTask()`. */
export const defaultLane: Lane = { queue: 'default', priority: 2, tenant: 'acme', gate: '' }

/** A valid submission, due now, with a fixed retry delay of 10 s. */
export function newTask(over: Partial<NewTask> = {}): NewTask {
  return {
    ...{
      tenant: 'acme',
      taskType: 'work',
      queue: 'default',
      priority: 2,
      payload: '{"n":1}',
      metadata: null,
      tags: [],
    },
    ...{ scheduledAtMs: null, delayMs: null, expiresAtMs: null, maxRetries: 3, backoff: 'fixed', jitter: 'none' },
    ...{ retryDelayMs: 10_000, retryMaxDelayMs: 60_000, timeoutMs: 60_000, resultTtlMs: null, concurrencyKey: null },
    ...{ idempotencyKey: null, requestHash: null, traceparent: null },
    ...over,
  }
}

/** A submission under a key; `request` stands for what it asks: equal ones are the same request. */
export function keyed(key: string, request = 'a', over: Partial<NewTask> = {}): NewTask {
  const requestHash = Buffer.alloc(32, request)
  return newTask({ idempotencyKey: key, requestHash, payload: JSON.stringify(request), ...over })
}

/** A node on the database of that url. Close it when done. */
export async function openTestNode(url: string, options: TestNodeOptions = {}): Promise<TestNode> {
  const node = new TestNode(url, options)
  await persistently(() => node.storeClock.sync())
  // no duty of a test node elects leaders: whoever says epoch 1 leads
  await node.query(
    'insert into partitions (partition, epoch) select generate_series(0, $1::integer - 1), 1 on conflict do nothing',
    [partitions],
  )
  return node
}

/** A database for the calling test file, and a node on it. Gone when the file is done. */
export async function openTestStore(
  options: TestNodeOptions = {},
): Promise<{ readonly url: string; readonly node: TestNode }> {
  const { url, drop } = await createDatabase()
  const node = await openTestNode(url, options)
  cleanUpLater(async () => {
    await node.close()
    await drop()
  })
  return { url, node }
}
