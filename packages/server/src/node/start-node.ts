import { type Clock, limits, systemClock, type Uuid } from '@duly/domain'
import { buildApi } from '../api/index.js'
import { Signals } from '../coordination/signals.js'
import { Attempts } from '../dispatch/attempts.js'
import { Dispatcher } from '../dispatch/dispatcher.js'
import { Fleet } from '../dispatch/fleet.js'
import { releaseUnfetched } from '../dispatch/release.js'
import { Reports } from '../dispatch/reports.js'
import { Sessions } from '../dispatch/sessions.js'
import { Workers } from '../dispatch/workers.js'
import { Committer } from '../intake/committer.js'
import { Intake } from '../intake/intake.js'
import { Names } from '../intake/names.js'
import type { Services } from '../model.js'
import { Recorder } from '../stats/recorder.js'
import { Stats } from '../stats/stats.js'
import { Summer } from '../stats/summer.js'
import type { DueTimer } from '../store/timer-store.js'
import { Queues } from '../tasks/queues.js'
import { Tasks } from '../tasks/tasks.js'
import { Waiters } from '../tasks/waiters.js'
import { createLogger, type Logger } from '../telemetry/logger.js'
import { createMetrics, type Metrics } from '../telemetry/metrics.js'
import { isSoon, Promoter } from '../timers/promoter.js'
import { Retention } from '../upkeep/retention/retention.js'
import { Watchdog } from '../upkeep/watchdog.js'
import type { ServerConfig } from './config.js'
import { type Duties, makeDuties } from './duties.js'
import { NO_KEYS, OPEN_WARNING } from './exposure.js'
import { Health } from './health.js'
import { joinDeployment, type Membership } from './join.js'
import { makeAccess } from './make-access.js'
import { Observers } from './observers.js'
import { beUnready, type StoppableParts, stopNode } from './stop-node.js'
import { makeStores, type Stores } from './stores.js'
import { version } from './version.js'

export interface NodeOptions {
  readonly logger?: Logger
  /** Ends the wait for a database that cannot be reached: the start rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** Whoever started it knows that it is open, so that it need not be logged. */
  readonly isOpenKnown?: boolean
  /** The machine's unless given. */
  readonly clock?: Clock
}

/** A running node. */
export interface RunningNode {
  readonly url: string
  /**
   * Ends it: for `drainDelayMs` it serves as before while `/readyz` says no, then it takes nothing new, answers what is under
   * way and leaves the deployment. Idempotent.
   */
  stop(): Promise<void>
  /** Ends that wait of a stop under way; false when there is none to end. */
  readonly hasten: () => boolean
}

const random = Math.random

/**
 * The composition root: reads the configuration and makes the concrete things. Migrates the database, joins the deployment,
 * listens. Rejects with a `DulyError` that says what to do when the configuration or the database does not allow it.
 */
export async function startNode(config: ServerConfig, options: NodeOptions = {}): Promise<RunningNode> {
  const { clock = systemClock, logger: log = createLogger({ level: config.logLevel }) } = options
  if (config.open && !options.isOpenKnown) log.warn({ host: config.host }, OPEN_WARNING)
  const membership = await joinDeployment(config, { clock, log, version, signal: options.signal })
  const parts = assemble(config, membership, log, clock)
  try {
    parts.duties.start()
    parts.signals.start()
    const url = await parts.api.listen({ host: config.host, port: config.port })
    log.info({ url, node: membership.number, roles: config.roles }, 'node started')
    if (!config.open) await askForKeys(parts, log)
    return running(url, parts, { config, clock })
  } catch (error) {
    await stopNode(parts, { clock, drainMs: 0 })
    throw error
  }
}

/** Nobody can do anything without a key, and only whoever has the database can make the first one. */
async function askForKeys({ stores }: NodeParts, log: Logger): Promise<void> {
  const hasKeys = await stores.keys.any().catch(() => true)
  if (!hasKeys) log.warn(NO_KEYS)
}

/** The concrete things that a node is made of. */
export interface NodeParts extends StoppableParts {
  readonly services: Services
  readonly stores: Stores
  readonly promoter: Promoter
  readonly watchdog: Watchdog
}

function running(
  url: string,
  parts: NodeParts,
  { config, clock }: { readonly config: ServerConfig; readonly clock: Clock },
): RunningNode {
  const { roles, drainDelayMs, drainMs } = config
  const delayMs = roles.includes('api') ? drainDelayMs : 0
  const hurry = new AbortController()
  let isDelaying = false
  let stopping: Promise<void> | null = null
  const stop = async (): Promise<void> => {
    isDelaying = delayMs > 0
    await beUnready(parts, { clock, delayMs, hurry: hurry.signal })
    isDelaying = false
    await stopNode(parts, { clock, drainMs })
  }
  return {
    url,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    hasten: () => {
      hurry.abort()
      return isDelaying
    },
  }
}

/** Makes the parts of a node and wires them up; nothing runs yet. */
export function assemble(
  config: ServerConfig,
  membership: Membership,
  log: Logger,
  clock: Clock = systemClock,
): NodeParts {
  const { database, storeClock, minter, id: nodeId, number: nodeNumber } = membership
  const stores = makeStores(database, { nodeNumber, graceMs: config.graceMs, writer: nodeId })
  const metrics = createMetrics()
  const waiters = new Waiters()
  const health = new Health(database)
  const storeNowMs = (): number => storeClock.nowMs()
  const partitions = Array.from({ length: config.partitions }, (_, partition) => partition)
  let others = 0
  let duties: Duties | null = null

  const addTimer = (timer: DueTimer): void => {
    if (!duties?.timers) {
      if (isSoon(timer, storeNowMs())) signals.publishTimers()
    } else if (promoter.add(timer)) duties.timers.wake()
  }
  const mint = (): Uuid => minter.mint()
  const { ring, uses: keyUses, keys } = makeAccess({ store: stores.keys, clock, storeNowMs, mint, log })
  const signals: Signals = new Signals({
    database,
    url: config.databaseUrl,
    nodeId,
    clock,
    log,
    others: () => others,
    onHints: (hints) => {
      if (hints.joined) duties?.membership.wake()
      waiters.finished(hints.finished)
      for (const session of hints.session) sessions.wake(session)
      for (const session of hints.drain) sessions.drained(session)
      if (hints.ready.length > 0) void dispatcher.readyElsewhere(hints.ready).catch(() => {})
      if (hints.timers) promoter.lookSoon()
      if (hints.timers) duties?.timers?.wake()
    },
    onRevoked: (key) => ring.revoked(key),
    onConnected: () => {
      ring.doubtAll()
      promoter.lookSoon()
      duties?.lookNow()
      void sessions.wakeCancelled().catch(() => {})
    },
  })
  const recorder = new Recorder({ store: stores.stats, storeNowMs: () => storeClock.knownMs() })
  const observers = new Observers({
    metrics,
    recorder,
    waiters,
    dispatcher: () => dispatcher,
    signals,
    addTimer,
    storeNowMs,
  })
  const sessions: Sessions = new Sessions({
    store: stores.sessions,
    progress: stores.progress,
    minter,
    clock,
    heartbeatMs: config.heartbeatMs,
    leaseMs: config.leaseMs,
    onLost: (state) => dispatcher.drop(state),
    onGap: (state, lastGrant) => void dispatcher.heal(state, lastGrant).catch(() => sessions.doubt(state)),
  })
  const dispatcher: Dispatcher = new Dispatcher({
    queue: stores.queue,
    store: stores.sessions,
    sessions,
    clock,
    storeNowMs,
    log,
    onTaken: observers.taken,
    giveBack: (state, tasks) => releaseUnfetched({ attempts, attemptStore: stores.attempts }, tasks, state.row.name),
  })
  const attempts = new Attempts(stores.attempts, observers)
  const reports = new Reports({ store: stores.attempts, attempts, clock, random, lanes: 1 })
  const promoter = new Promoter({
    store: stores.timers,
    clock,
    storeNowMs,
    partitions,
    reserve: (task) => dispatcher.reserve(task),
    onReady: observers.promoted,
    onExpired: observers.cancelled,
  })
  const retention = new Retention({
    url: config.databaseUrl,
    clock,
    log,
    days: config.retentionDays,
    share: 0.25,
    batch: 1_000,
    few: 1_000,
    listener: {
      removed: (kind, rows) => metrics.retentionRemoved(kind, rows),
      swap: (landed, ms) => metrics.retentionSwap(landed, ms),
      pass: (pass) => metrics.retentionPass(pass),
    },
  })
  const watchdog = new Watchdog({
    store: stores.watch,
    attemptStore: stores.attempts,
    attempts,
    random,
    log,
    maxCrashes: config.maxCrashes,
    partitions,
    batch: 500,
    onLost: (tasks) => metrics.leasesLost(tasks),
    onTimedOut: (taskType) => metrics.taskTimedOut(taskType),
  })
  const names = new Names(stores.intake, { limit: limits.queuesMaxCount })
  const intake = new Intake({
    committer: new Committer({ database, store: stores.intake, chunkRows: 500, chunkBytes: 8 * 1024 * 1024 }),
    names,
    minter,
    partitions: config.partitions,
    clock,
    groupSlots: stores.groupSlots,
    batchSlots: stores.batchSlots,
    reserve: (task) => dispatcher.reserve(task),
    onCommitted: observers.committed,
  })
  const tasks = new Tasks({
    store: stores.tasks,
    edits: stores.edits,
    lists: stores.lists,
    waiters,
    ensureQueue: (queue) => names.ensureQueue(queue),
    onEdited: observers.edited,
    onReady: observers.ready,
    onCancelled: (task) => observers.cancelled([task]),
    onCancelRequested: (session) => {
      sessions.wake(session)
      signals.publish('session', session)
    },
  })
  const { sessions: sessionStore, attempts: attemptStore } = stores
  const workers = new Workers({ sessions, dispatcher, reports, attempts, attemptStore, store: sessionStore })
  const queues = new Queues({
    store: stores.queues,
    purges: stores.purges,
    clock,
    log,
    limit: limits.queuesMaxCount,
    onSwitched: (queue) => {
      void dispatcher.readyElsewhere([queue]).catch(() => {})
      signals.publish('ready', queue)
    },
    onPurged: observers.cancelled,
  })
  const fleet = new Fleet({
    store: stores.fleet,
    sessions: sessionStore,
    log,
    onDraining: (session) => {
      sessions.drained(session)
      signals.publish('drain', session)
    },
  })
  const stats = new Stats({ store: stores.stats, recorder, clock, storeNowMs })
  const services: Services = { intake, tasks, queues, fleet, workers, keys, stats, health }
  watchQueues(metrics, services, storeNowMs)
  metrics.setSlotSource(() => stores.sessions.slots())
  const { payloadMaxBytes } = config
  const api = buildApi({
    services,
    gate: config.open ? null : ring,
    config: { payloadMaxBytes, resultMaxBytes: payloadMaxBytes, version, servesCalls: config.roles.includes('api') },
    logger: log,
    metrics,
  })
  duties = makeDuties({
    config,
    membership,
    clock,
    log,
    sessions,
    dispatcher,
    waiters,
    tasks: stores.tasks,
    promoter,
    watchdog,
    retention,
    keyUses,
    recorder,
    summer: new Summer({ store: stores.stats, storeNowMs }),
    onOthers: (count) => {
      others = count
    },
    others: () => others,
  })
  return {
    ...{ membership, api, health, dispatcher, sessions, waiters, intake, reports, duties, recorder, signals, log },
    ...{ services, stores, promoter, watchdog, keyUses },
  }
}

/** Depths and slots are read when they are scraped. */
function watchQueues(metrics: Metrics, services: Services, storeNowMs: () => number): void {
  metrics.setQueueSource(async () => {
    const nowMs = storeNowMs()
    const all = { after: null, limit: limits.queuesMaxCount }
    return (await services.queues.list(null, all)).items.map(({ name, depthByPriority, oldestReadyAtMs }) => ({
      queue: name,
      depthByPriority,
      oldestAgeMs: oldestReadyAtMs === null ? null : Math.max(0, nowMs - oldestReadyAtMs),
    }))
  })
}
