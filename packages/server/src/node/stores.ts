import { randomUUID } from 'node:crypto'
import type { Uuid } from '@duly/domain'
import { PostgresReadyQueue } from '../queue/postgres/ready-queue.js'
import { AttemptStore } from '../store/attempt-store.js'
import { BulkStore } from '../store/bulk-store.js'
import { ClusterStore } from '../store/cluster-store.js'
import { CronStore } from '../store/cron-store.js'
import type { Database } from '../store/database.js'
import { DeadLetterStore } from '../store/dead-letter-store.js'
import { DependencyStore } from '../store/dependency-store.js'
import { EditStore } from '../store/edit-store.js'
import { ExplainStore } from '../store/explain-store.js'
import { FiringStore } from '../store/firing-store.js'
import { FleetStore } from '../store/fleet-store.js'
import { IntakeStore } from '../store/intake-store.js'
import { KeyStore } from '../store/key-store.js'
import { LeaderStore } from '../store/leader-store.js'
import { ListStore } from '../store/list-store.js'
import { LogStore } from '../store/log-store.js'
import { ProgressStore } from '../store/progress-store.js'
import { PurgeStore } from '../store/purge-store.js'
import { QueueStore } from '../store/queue-store.js'
import { SessionStore } from '../store/session-store.js'
import { SettleStore } from '../store/settle-store.js'
import { StatsStore } from '../store/stats-store.js'
import { TaskStore } from '../store/task-store.js'
import { TimerStore } from '../store/timer-store.js'
import { WatchStore } from '../store/watch-store.js'
import { WorkflowChangeStore } from '../store/workflow-change-store.js'
import { WorkflowRecordStore } from '../store/workflow-record-store.js'
import { WorkflowStore } from '../store/workflow-store.js'
import { ZoneStore } from '../store/zone-store.js'

/** Slots of `counters` that one node writes: each of its writers has one of its own, so that they never wait for another. */
const slotsPerNode = 16

/** Which writer uses which slot of the node. */
const writerSlots = {
  groups: [0],
  batches: [2, 3],
  claims: 4,
  attempts: 5,
  timers: 6,
  tasks: 7,
  purges: 8,
  cron: 9,
  bulk: 10,
  workflowGroups: [11],
  largeWorkflows: [12],
  nodeEnds: [13, 14, 15],
} as const

/** What the watchdog allows beyond the grace that workers are given: time for their own report to arrive. */
const reportSlackMs = 1_000

/** The stores of a node, on one database; `node` names it, a random name unless given. */
export function makeStores(database: Database, options: { nodeNumber: number; graceMs: number; node?: Uuid }) {
  const first = options.nodeNumber * slotsPerNode
  const slot = (offset: number): number => first + offset
  const graceMs = options.graceMs + reportSlackMs
  const node = options.node ?? randomUUID()
  return {
    intake: new IntakeStore(database, { graceMs, node }),
    queue: new PostgresReadyQueue(database, { slot: slot(writerSlots.claims), graceMs, node }),
    attempts: new AttemptStore(database, { slot: slot(writerSlots.attempts) }),
    timers: new TimerStore(database, { slot: slot(writerSlots.timers), graceMs, node }),
    edits: new EditStore(database, { slot: slot(writerSlots.tasks) }),
    lists: new ListStore(database),
    tasks: new TaskStore(database, { slot: slot(writerSlots.tasks), graceMs }),
    deadLetters: new DeadLetterStore(database, { slot: slot(writerSlots.tasks) }),
    bulk: new BulkStore(database, { slot: slot(writerSlots.bulk), graceMs }),
    progress: new ProgressStore(database),
    logs: new LogStore(database),
    explain: new ExplainStore(database),
    cron: new CronStore(database),
    firings: new FiringStore(database, { slot: slot(writerSlots.cron), graceMs }),
    zones: new ZoneStore(database),
    fleet: new FleetStore(database),
    stats: new StatsStore(database, { writer: node }),
    sessions: new SessionStore(database, { graceMs, node }),
    queues: new QueueStore(database),
    purges: new PurgeStore(database, { slot: slot(writerSlots.purges) }),
    keys: new KeyStore(database, options.nodeNumber),
    watch: new WatchStore(database),
    leaders: new LeaderStore(database),
    cluster: new ClusterStore(database),
    workflows: new WorkflowStore(database, { graceMs, node }),
    workflowRecords: new WorkflowRecordStore(database),
    workflowChanges: new WorkflowChangeStore(),
    dependencies: new DependencyStore(database),
    settle: new SettleStore(database, { graceMs, node }),
    groupSlots: writerSlots.groups.map(slot),
    batchSlots: writerSlots.batches.map(slot),
    workflowSlots: {
      groups: writerSlots.workflowGroups.map(slot),
      large: writerSlots.largeWorkflows.map(slot),
      ends: writerSlots.nodeEnds.map(slot),
    },
  }
}

export type Stores = ReturnType<typeof makeStores>
