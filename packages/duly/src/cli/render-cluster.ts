import type { ClusterRecord } from '@duly/sdk'
import { facts, table } from './table.js'

/** How the deployment stands, for people: the leaders in sum, partition by partition in --json. */
export function renderCluster({ nodes, partitionCount, partitions, shards, adapters }: ClusterRecord): string {
  const led = partitions.filter(({ leader }) => leader !== null).length
  const { store, readyQueue, leadership } = adapters
  const summary = facts([
    ['store', `${store.kind} ${store.version}, ${health(store)}, ${store.latencyMs} ms`],
    ['ready queue', `${readyQueue.kind}, ${health(readyQueue)}`],
    ['leadership', `${leadership.kind}, ${health(leadership)}`],
    ['partitions', `${partitionCount}, ${led} led`],
    ['shards', shards.length],
  ])
  const rows = nodes.map((node) => [
    node.number,
    node.nodeId,
    node.roles.join(','),
    node.version,
    node.timeZoneData ?? '',
    node.startedAt.toISOString(),
    node.lastSeenAt.toISOString(),
    node.alive ? 'yes' : 'no',
    node.partitionsLed,
  ])
  return `${summary}\n${table(['NODE', 'ID', 'ROLES', 'VERSION', 'ZONES', 'STARTED', 'SEEN', 'ALIVE', 'LEADS'], rows)}`
}

const health = ({ healthy }: { readonly healthy: boolean }): string => (healthy ? 'healthy' : 'not healthy')
