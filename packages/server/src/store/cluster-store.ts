import type { ClusterNode, ClusterPartition } from '../model.js'
import type { Database, Statement } from './database.js'
import { leaderLeaseMs } from './leader-store.js'

const nodes: Statement = {
  name: 'cluster_nodes',
  text: `
select n.id, n.number, n.roles, n.version, n.time_zone_data as "timeZoneData",
  date_part('epoch', n.started_at) * 1000 as "startedAtMs",
  date_part('epoch', n.seen_at) * 1000 as "seenAtMs",
  n.seen_at > (select duly_judged_now()) - interval '${leaderLeaseMs / 1_000} seconds' as "isAlive",
  (select count(*)::integer from partitions p where p.leader = n.id) as "partitionsLed"
from nodes n order by n.number`,
}

/** A leader whose node was forgotten leads nothing. */
const partitions: Statement = {
  name: 'cluster_partitions',
  text: `
select p.partition, n.number as leader, p.epoch::float8 as epoch
from partitions p left join nodes n on n.id = p.leader order by p.partition`,
}

const version: Statement = { name: 'store_version', text: `select current_setting('server_version') as version` }

/** How the deployment stands, for operators. */
export class ClusterStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  nodes(): Promise<ClusterNode[]> {
    return this.#database.query<ClusterNode>(nodes)
  }

  partitions(): Promise<ClusterPartition[]> {
    return this.#database.query<ClusterPartition>(partitions)
  }

  async version(): Promise<string> {
    const [row] = await this.#database.query<{ version: string }>(version)
    return row?.version ?? ''
  }
}
