import type { Priority } from '../define-task.js'

export interface QueueRecord {
  readonly name: string
  readonly paused: boolean
  readonly depth: number
  readonly depthByPriority: Readonly<Record<Priority, number>>
  /** The 100 deepest tenants. */
  readonly depthByTenant: readonly { readonly tenantId: string; readonly depth: number }[]
  readonly running: number
  readonly oldestReadyAt: Date | null
}

/** A queue that was paused, and whether it came into being by that. */
export interface PausedQueue extends QueueRecord {
  /** There was no queue of this name: look whether it is a slip. */
  readonly created: boolean
}

/** Seconds; what is below a millisecond counts as one. */
export interface Quantiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
}

/** What tasks did in a window, and what waits and runs now. */
export interface Figures {
  readonly submitted: number
  /** Attempts given to a worker. */
  readonly started: number
  readonly succeeded: number
  readonly failed: number
  readonly dead: number
  readonly cancelled: number
  /** Attempts that failed and are tried again. */
  readonly retried: number
  /** Attempts taken back because their worker was lost. */
  readonly lost: number
  readonly timedOut: number
  readonly submittedPerSecond: number
  readonly startedPerSecond: number
  readonly finishedPerSecond: number
  /** FAILED and DEAD among the tasks that SUCCEEDED, FAILED or are DEAD; null: none ended. */
  readonly errorRate: number | null
  /** From the instant at which a task was ready to its start. */
  readonly waitSeconds: Quantiles | null
  /** Of the last attempts of tasks that ended. */
  readonly runSeconds: Quantiles | null
  /** Null by task type: not kept. */
  readonly depth: number | null
  readonly running: number
}

export interface StatsRecord {
  readonly from: Date
  readonly to: Date
  readonly windowSeconds: number
  readonly totals: Figures
  readonly by: 'queue' | 'task_type' | 'tenant' | null
  /** The 100 names with the most events. */
  readonly items: readonly (Figures & { readonly name: string })[]
}

/** A node of the deployment. */
export interface ClusterNodeRecord {
  readonly nodeId: string
  readonly number: number
  readonly roles: readonly string[]
  readonly version: string
  /** The version of its rules of time zones, e.g. `2026a`. */
  readonly timeZoneData: string | null
  readonly startedAt: Date
  readonly lastSeenAt: Date
  /** Seen less than 6 s ago. */
  readonly alive: boolean
  readonly partitionsLed: number
}

/** How the deployment stands. */
export interface ClusterRecord {
  readonly nodes: readonly ClusterNodeRecord[]
  readonly partitionCount: number
  /** Each timer partition, the number of the node that leads it, and how often that has changed. */
  readonly partitions: readonly {
    readonly partition: number
    readonly leader: number | null
    readonly epoch: number
  }[]
  readonly shards: readonly {
    readonly shard: number
    readonly firstPartition: number
    readonly lastPartition: number
    readonly healthy: boolean
  }[]
  readonly adapters: {
    readonly store: {
      readonly kind: string
      readonly healthy: boolean
      readonly version: string
      readonly latencyMs: number
    }
    readonly readyQueue: { readonly kind: string; readonly healthy: boolean }
    readonly leadership: { readonly kind: string; readonly healthy: boolean }
  }
}

/** A worker's session as operators see it. */
export interface WorkerRecord {
  readonly workerId: string
  /** For people; need not be unique. */
  readonly name: string
  readonly host: string | null
  readonly version: string | null
  /** draining: finishes what it holds and gets nothing more; left: it ended by itself; lost: it fell silent. */
  readonly state: 'live' | 'draining' | 'left' | 'lost'
  /** The only tenant whose tasks it gets; null: all. */
  readonly tenantId: string | null
  /** In a list the first 100; `queueCount` counts all. */
  readonly queues: readonly string[]
  readonly queueCount: number
  /** In a list the first 100; `taskTypeCount` counts all. */
  readonly taskTypes: readonly string[]
  readonly taskTypeCount: number
  readonly slots: number
  /** Tasks that it holds a lease of. */
  readonly running: number
  readonly registeredAt: Date
  readonly lastHeartbeatAt: Date
  readonly heartbeatSeconds: number
  readonly leaseSeconds: number
  readonly endedAt: Date | null
  readonly lagMs: number | null
  readonly rssBytes: number | null
}

/** What a purge did. */
export interface PurgeSummary {
  readonly cancelled: number
  /** PENDING tasks that are there now: they came meanwhile, or a claim held them. What waited when the purge began is done. */
  readonly remaining: number
}
