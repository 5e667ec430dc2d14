import type { Uuid } from '@duly/domain'
import type { Database, Statement } from './database.js'
import { textArray } from './params.js'

/** The lowest number that no live node has; a node unseen for a minute is gone and its number free. */
const join: Statement = {
  name: 'join_node',
  text: `
with gone as (delete from nodes where seen_at < now() - interval '60 seconds' returning number)
insert into nodes (id, number, roles, version, retention_days, started_at, seen_at)
select $1, (
  select min(n) from generate_series(0, 4096) n
  where not exists (select 1 from nodes k where k.number = n and k.seen_at >= now() - interval '60 seconds')
), $2, $3, $4::integer, now(), now()
on conflict do nothing
returning number`,
}

/**
 * A node that was away for so long that it was forgotten comes back, under another number if its own is taken. It goes on to
 * write the slots of its first number, beside the node that has it now: slots are added up, so that two writers cost waits and
 * no exactness.
 */
const seen: Statement = {
  name: 'node_seen',
  text: `
with me as (update nodes set seen_at = now(), retention_days = $4::integer where id = $1 returning id),
back as (
  insert into nodes (id, number, roles, version, retention_days, started_at, seen_at)
  select $1, case when exists (select 1 from nodes k where k.number = $2) then (
      select min(n) from generate_series(0, 4096) n where not exists (select 1 from nodes k where k.number = n)
    ) else $2 end, $3, '', $4::integer, now(), now()
  where not exists (select 1 from me)
  on conflict do nothing
)
select count(*)::integer as others from nodes n where n.id <> $1 and n.seen_at > now() - interval '10 seconds'`,
}

const leave: Statement = { name: 'node_leave', text: `delete from nodes where id = $1` }

const fixed: Statement = {
  name: 'deployment_fact',
  text: `
with made as (insert into deployment (name, value) values ($1, $2) on conflict (name) do nothing returning value)
select coalesce((select value from made), (select value from deployment where name = $1)) as value`,
}

/** The nodes of the deployment, and facts that are fixed for all of them. */
export class NodeStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Joins under a number that is this node's alone while it is seen. */
  async join(
    id: Uuid,
    roles: readonly string[],
    version: string,
    retentionDays: number | null = null,
  ): Promise<number> {
    for (let attempt = 0; attempt < 50; attempt++) {
      const [row] = await this.#database.query<{ number: number }>(join, [id, textArray(roles), version, retentionDays])
      if (row) return row.number
    }
    throw new Error('could not join the deployment: the numbers of nodes are contended')
  }

  /** Says that this node lives; answers how many other nodes were seen in the last 10 s. */
  async seen(id: Uuid, number: number, roles: readonly string[], retentionDays: number | null = null): Promise<number> {
    const values = [id, number, textArray(roles), retentionDays]
    const [row] = await this.#database.query<{ others: number }>(seen, values)
    return row?.others ?? 0
  }

  async leave(id: Uuid): Promise<void> {
    await this.#database.query(leave, [id])
  }

  /** The deployment's value of a fact, which the first node to ask decides. */
  async fact(name: string, value: string): Promise<string> {
    const [row] = await this.#database.query<{ value: string | null }>(fixed, [name, value])
    return row?.value ?? this.fact(name, value)
  }
}
