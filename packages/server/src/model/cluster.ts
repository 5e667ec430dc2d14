import type { Uuid } from '@duly/domain'

/** A node of the deployment as operators see it. */
export interface ClusterNode {
  readonly id: Uuid
  readonly number: number
  readonly roles: readonly string[]
  readonly version: string
  /** The version of its rules of time zones; null: it has not said so yet. */
  readonly timeZoneData: string | null
  readonly startedAtMs: number
  readonly seenAtMs: number
  readonly isAlive: boolean
  readonly partitionsLed: number
}

/** A timer partition; the leader by its node's number. */
export interface ClusterPartition {
  readonly partition: number
  readonly leader: number | null
  readonly epoch: number
}

/** How a deployment stands. */
export interface ClusterRecord {
  readonly nodes: readonly ClusterNode[]
  readonly partitions: readonly ClusterPartition[]
  readonly storeVersion: string
  readonly storeLatencyMs: number
}
