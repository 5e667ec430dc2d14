import type { ClientBase } from 'pg'

/** An index that one partition lacks: its parent was made on the partitioned table alone. */
interface MissingIndex {
  readonly parent: string
  readonly partition: string
  /** `create index … on only …`, as PostgreSQL states the parent. */
  readonly definition: string
}

const missing = `
select i.relname as parent, p.relname as partition, pg_get_indexdef(i.oid) as definition
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_inherits h on h.inhparent = x.indrelid
join pg_class p on p.oid = h.inhrelid
where i.relkind = 'I' and not x.indisvalid and i.relnamespace = current_schema()::regnamespace
  and not exists (select from pg_inherits own join pg_index y on y.indexrelid = own.inhrelid
    where own.inhparent = i.oid and y.indrelid = p.oid)
order by 1, 2 desc`

/** Indexes that partitions lack, the newest days first. Days made from now on have them: attaching a partition makes them. */
export async function missingDayIndexes(client: ClientBase): Promise<readonly MissingIndex[]> {
  return (await client.query<MissingIndex>(missing)).rows
}

/**
 * Builds them one after the other without holding up writers, and joins each to its parent, which is used as soon as the last
 * one is there. May be cut off at any point and run again. The caller holds the migrators' lock, outside a transaction.
 */
export async function buildDayIndexes(client: ClientBase, log: (line: string) => void): Promise<void> {
  for (const { parent, partition, definition } of await missingDayIndexes(client)) {
    const name = `${partition}_${parent}`
    const [, what] = /^CREATE INDEX \S+ ON ONLY \S+ (.+)$/.exec(definition) ?? []
    if (what === undefined) throw new Error(`no plain index: ${definition}`)
    log(`building index ${parent} of ${partition}`)
    // what an earlier run was cut off at is invalid, and not joined to the parent
    await client.query(`drop index concurrently if exists "${name}"`)
    await client.query(`create index concurrently "${name}" on "${partition}" ${what}`)
    await client.query(`alter index "${parent}" attach partition "${name}"`)
  }
}
