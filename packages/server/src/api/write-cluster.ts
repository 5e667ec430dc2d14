import type { ClusterNode, ClusterRecord } from '../model.js'
import { instant, type WritableObject, writeJson } from './write-json.js'

/** What is told was read a moment ago: the adapter that it came from works. */
const postgresql = { kind: 'postgresql', healthy: true } as const

export function writeCluster({ nodes, partitions, storeVersion, storeLatencyMs }: ClusterRecord): string {
  const last = partitions.at(-1)?.partition ?? 0
  return writeJson({
    nodes: nodes.map(nodeOf),
    partition_count: partitions.length,
    partitions: partitions.map(({ partition, leader, epoch }) => ({ partition, leader, epoch })),
    shards: [{ shard: 0, first_partition: 0, last_partition: last, healthy: true }],
    adapters: {
      store: { ...postgresql, version: storeVersion, latency_ms: Math.round(storeLatencyMs * 100) / 100 },
      ready_queue: postgresql,
      leadership: { ...postgresql, healthy: partitions.every(({ leader }) => leader !== null) },
    },
  })
}

function nodeOf(node: ClusterNode): WritableObject {
  return {
    node_id: node.id,
    number: node.number,
    roles: node.roles,
    version: node.version,
    time_zone_data: node.timeZoneData,
    started_at: instant(node.startedAtMs),
    last_seen_at: instant(node.seenAtMs),
    alive: node.isAlive,
    partitions_led: node.partitionsLed,
  }
}
