import { type Clock, limits, systemClock } from '@duly/domain'
import type { FastifyInstance } from 'fastify'
import { buildApi } from '../api/index.js'
import { Cluster } from '../coordination/cluster.js'
import type { Leadership } from '../coordination/leadership.js'
import type { Gate, Services } from '../model.js'
import { Summer } from '../stats/summer.js'
import type { QueueSample } from '../telemetry/gauges.js'
import type { Logger } from '../telemetry/logger.js'
import type { Promoter } from '../timers/promoter.js'
import type { Watchdog } from '../upkeep/watchdog.js'
import type { Workflows } from '../workflows/workflows.js'
import type { ServerConfig } from './config.js'
import { type DutyParts, makeDuties } from './duties.js'
import { Health } from './health.js'
import type { Membership } from './join.js'
import { makeAccess } from './make-access.js'
import { makeBulk } from './parts/bulk.js'
import { makeCron } from './parts/cron.js'
import { makeDispatch } from './parts/dispatch.js'
import { type Ground, makeGround } from './parts/ground.js'
import { makeObservers, makeSignals, type Reached } from './parts/hints.js'
import { makeLeadership } from './parts/leadership.js'
import { makeTasks } from './parts/tasks.js'
import { makeUpkeep } from './parts/upkeep.js'
import { makeNodeEnds, makeReopening, makeWorkflows } from './parts/workflows.js'
import type { StoppableParts } from './stop-node.js'
import type { Stores } from './stores.js'
import { version } from './version.js'

/** The concrete things that a node is made of. */
export interface NodeParts extends StoppableParts {
  readonly services: Services
  readonly stores: Stores
  readonly promoter: Promoter
  readonly watchdog: Watchdog
  readonly workflows: Workflows
}

/** Makes the parts of a node and wires them up, each room by its own function; nothing runs yet. */
export function assemble(
  config: ServerConfig,
  membership: Membership,
  log: Logger,
  clock: Clock = systemClock,
): NodeParts {
  const ground = makeGround({ config, membership, clock, log })
  const { stores, waiters, recorder, storeNowMs } = ground
  const mint = () => membership.minter.mint()
  const { ring, uses: keyUses, keys } = makeAccess({ store: stores.keys, clock, storeNowMs, mint, log })
  const reached = (): Reached => ({ sessions, dispatcher, promoter, cronDuty, duties })
  const signals = makeSignals(ground, ring, reached)
  const observers = makeObservers(ground, signals, reached)
  const nodeEnds = makeNodeEnds(ground, { observers, signals, sessions: () => sessions, dispatcher: () => dispatcher })
  const reopening = makeReopening(ground, nodeEnds)
  const dispatch = makeDispatch(ground, { observers, signals, nodeEnds })
  const { sessions, dispatcher, attempts, reports, workers, fleet } = dispatch
  const upkeep = { observers, dispatcher, attempts, nodeEnds, leadership: (): Leadership | null => leadership }
  const { promoter, watchdog, retention } = makeUpkeep(ground, upkeep)
  const leadership = makeLeadership(ground, { signals, promoter, watchdog, duties: () => duties })
  const parts = { observers, signals, dispatch, nodeEnds, reopening }
  const { intake, tasks, explainer, logs, queues, stats, names } = makeTasks(ground, parts)
  const { cron, cronDuty, zoneData } = makeCron(ground, {
    ...{ ...parts, names, duties: () => duties },
    timeZoneData: process.versions.tz ?? '',
  })
  const acting = { ...parts, tasks, duties: () => duties }
  const { bulk, runner: bulkRunner, deadLetters } = makeBulk(ground, acting)
  const { workflows, submission } = makeWorkflows(ground, {
    ...{ observers, names, nodeEnds, reopening },
    reserve: (task) => dispatcher.reserve(task),
  })
  const health = new Health(membership.database)
  const cluster = new Cluster({ store: stores.cluster, clock })
  const services: Services = {
    ...{ intake, tasks, explainer, logs, deadLetters, bulk, workflows, cron, queues, fleet, workers, keys, stats },
    ...{ cluster, health },
  }
  const api = makeApi(ground, services, config.open ? null : ring)
  const duties = makeDuties(
    dutyParts(ground, {
      ...{ sessions, dispatcher, promoter, cronDuty, zoneData, bulkRunner, leadership, watchdog, retention, keyUses },
      nodeEnds,
    }),
  )
  return {
    ...{ membership, api, health, dispatcher, sessions, waiters, intake, reports, duties, recorder, signals, log },
    ...{ services, stores, promoter, leadership, watchdog, keyUses, submission, nodeEnds, workflows },
  }
}

type OwnDutyParts = Pick<
  DutyParts,
  | 'sessions'
  | 'dispatcher'
  | 'promoter'
  | 'cronDuty'
  | 'zoneData'
  | 'bulkRunner'
  | 'leadership'
  | 'watchdog'
  | 'retention'
  | 'keyUses'
  | 'nodeEnds'
>

function dutyParts(ground: Ground, parts: OwnDutyParts): DutyParts {
  const { config, membership, clock, log, waiters, logWaiters, recorder, stores, storeNowMs, others } = ground
  return {
    ...{ config, membership, clock, log, waiters, logWaiters, recorder, ...parts },
    tasks: stores.tasks,
    deadLetters: stores.deadLetters,
    logs: stores.logs,
    summer: new Summer({ store: stores.stats, storeNowMs }),
    onOthers: (count) => {
      others.count = count
    },
    others: () => others.count,
  }
}

/** The HTTP surface, and the figures that it reads when they are scraped. */
function makeApi(ground: Ground, services: Services, gate: Gate | null): FastifyInstance {
  const { config, log, metrics, stores } = ground
  const { payloadMaxBytes } = config
  metrics.ask({
    queues: () => queueSamples(ground, services),
    slots: () => stores.sessions.slots(),
    letters: () => stores.deadLetters.byQueue(),
    workflows: () => stores.workflowRecords.countOpen(),
  })
  return buildApi({
    services,
    gate,
    config: { payloadMaxBytes, resultMaxBytes: payloadMaxBytes, version, servesCalls: config.roles.includes('api') },
    logger: log,
    metrics,
  })
}

async function queueSamples({ storeNowMs }: Ground, services: Services): Promise<QueueSample[]> {
  const nowMs = storeNowMs()
  const { items } = await services.queues.list(null, { after: null, limit: limits.queuesMaxCount })
  return items.map(({ name, depthByPriority, oldestReadyAtMs }) => ({
    queue: name,
    depthByPriority,
    oldestAgeMs: oldestReadyAtMs === null ? null : Math.max(0, nowMs - oldestReadyAtMs),
  }))
}
