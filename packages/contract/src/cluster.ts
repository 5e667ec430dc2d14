import Type from 'typebox'
import { Count, closed, Instant, nullable } from './common.js'

const NodeId = Type.String({
  pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  examples: ['01a229f7-e80c-7015-9677-b0ef0c2b3184'],
})

export const ClusterNode = closed({
  node_id: NodeId,
  number: Type.Integer({ minimum: 0, description: 'Its number among the nodes, for as long as it is there.' }),
  roles: Type.Array(Type.String()),
  version: Type.String(),
  time_zone_data: nullable<string>('string', {
    description: 'The version of the rules of time zones by which it computes fire times; null: not told yet.',
    examples: ['2026a'],
  }),
  started_at: Instant,
  last_seen_at: Instant,
  alive: Type.Boolean({ description: 'Seen less than 6 s ago; one that is not loses the partitions that it leads.' }),
  partitions_led: Count,
})

const ClusterPartition = closed({
  partition: Count,
  leader: nullable<number>('integer', { minimum: 0, description: 'The number of the node that leads it; null: none.' }),
  epoch: Type.Integer({ minimum: 0, description: 'Raised whenever it gets another leader or none.' }),
})

const Shard = closed({
  shard: Count,
  first_partition: Count,
  last_partition: Count,
  healthy: Type.Boolean(),
})

const Adapter = closed({
  kind: Type.String(),
  healthy: Type.Boolean(),
})

export const Cluster = closed({
  nodes: Type.Array(ClusterNode, { description: 'By their numbers; one that was not seen for a minute is forgotten.' }),
  partition_count: Count,
  partitions: Type.Array(ClusterPartition, { description: 'Each timer partition and its leader.' }),
  shards: Type.Array(Shard, { description: 'Databases, and the partitions that live in them.' }),
  adapters: closed({
    store: closed({
      kind: Type.String(),
      healthy: Type.Boolean(),
      version: Type.String(),
      latency_ms: Type.Number({ minimum: 0, description: 'Of one statement, from the node that answers.' }),
    }),
    ready_queue: Adapter,
    leadership: Adapter,
  }),
})
