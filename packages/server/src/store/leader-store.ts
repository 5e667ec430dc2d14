import type { Uuid } from '@duly/domain'
import type { Database, Statement } from './database.js'
import { int2Array, int8Array } from './params.js'

/** A leader whose node was not seen for so long, by the store's clock, may be replaced. */
export const leaderLeaseMs = 6_000

/** A partition, who leads it, and how often that has changed. */
export interface Seat {
  readonly partition: number
  readonly leader: Uuid | null
  readonly epoch: number
}

const columns = 'p.partition, p.leader, p.epoch::float8 as epoch'

const fill: Statement = {
  name: 'fill_partitions',
  text: `insert into partitions (partition) select generate_series(0, $1::integer - 1) on conflict do nothing`,
}

const read: Statement = { name: 'read_partitions', text: `select ${columns} from partitions p order by p.partition` }

/** Only from nobody or from a dead leader, at the epoch that was read, and only by a node that lives itself. */
const take: Statement = {
  name: 'take_partitions',
  text: `
update partitions p set leader = $1, epoch = p.epoch + 1
from (
  select p.partition from unnest($2::smallint[], $3::bigint[]) as i (partition, epoch)
  join partitions p on p.partition = i.partition and p.epoch = i.epoch
  where not exists (select 1 from nodes n where n.id = p.leader and n.seen_at > (select duly_judged_now()) - interval '${leaderLeaseMs / 1_000} seconds')
    and exists (select 1 from nodes n where n.id = $1 and n.seen_at > now() - interval '${leaderLeaseMs / 1_000} seconds')
  order by p.partition for update of p
) i
where p.partition = i.partition
returning ${columns}`,
}

/** The epoch goes up at once: what its last leader has under way from then on is refused. */
const free: Statement = {
  name: 'free_partitions',
  text: `
update partitions p set leader = null, epoch = p.epoch + 1
from (
  select p.partition from partitions p
  where p.leader = $1 and ($2::smallint[] is null or p.partition = any ($2)) order by p.partition for update
) i
where p.partition = i.partition
returning ${columns}`,
}

/** The table of partitions and their leaders. */
export class LeaderStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Makes the rows of the partitions from 0 to `count` − 1 that are not there. */
  async fill(count: number): Promise<void> {
    await this.#database.query(fill, [count])
  }

  /** All seats, by partition. */
  read(): Promise<Seat[]> {
    return this.#database.query<Seat>(read)
  }

  /** Answers the seats that the node has now, of those it asked for. */
  take(node: Uuid, seats: readonly Seat[]): Promise<Seat[]> {
    const values = [
      node,
      int2Array(seats.map(({ partition }) => partition)),
      int8Array(seats.map(({ epoch }) => epoch)),
    ]
    return this.#database.query<Seat>(take, values)
  }

  /** Leaves those of the partitions that the node leads, or all it leads. Answers them as they are now. */
  free(node: Uuid, partitions: readonly number[] | null = null): Promise<Seat[]> {
    return this.#database.query<Seat>(free, [node, partitions && int2Array(partitions)])
  }
}
