import type { Statement } from '../database.js'

/** A table in which each writer counts in rows of its own: what counts is the sum over the slots. */
interface CounterTable {
  readonly name: string
  readonly table: string
  /** What is counted, by these columns of these types: the beginning of the primary key, in its order. */
  readonly key: readonly (readonly [column: string, type: string])[]
  readonly sum: string
}

/**
 * Removes rows that sum up to zero, of the next $5 keys behind $1 … $4. The sum stays what it was, and a writer that waits for one of
 * them writes it anew. Rows that others hold are skipped, so nobody is waited for.
 */
function zeroSums({ name, table, key, sum }: CounterTable): Statement {
  const names = key.map(([column]) => column)
  const of = (alias: string): string => names.map((column) => `${alias}.${column}`).join(', ')
  const same = (one: string, other: string): string =>
    names.map((column) => `${one}.${column} = ${other}.${column}`).join(' and ')
  return {
    name,
    text: `
with looked as materialized (
  select ${of('c')} from ${table} c
  where (${of('c')}) > (${key.map(([, type], place) => `$${place + 1}::${type}`).join(', ')})
  group by 1, 2, 3, 4 order by 1, 2, 3, 4 limit $5
),
held as materialized (
  select c.* from looked l cross join lateral (
    select c.* from ${table} c where ${same('c', 'l')} for update skip locked
  ) c
),
idle as materialized (
  select ${of('h')} from held h group by 1, 2, 3, 4 having sum(h.${sum}) = 0
),
gone as (
  delete from ${table} c using idle i join held h using (${names.join(', ')})
  where ${same('c', 'h')} and c.slot = h.slot
  returning 1
)
select (select count(*)::integer from gone) as removed,
  case when (select count(*) from looked) = $5 then (
    select json_build_array(${of('l')}) from looked l
    order by ${names.map((column) => `l.${column} desc`).join(', ')} limit 1
  ) end as next`,
  }
}

/** Lanes in which nothing waits. */
export const sweepCounters = zeroSums({
  name: 'retention_sweep_counters',
  table: 'counters',
  key: [
    ['queue', 'text'],
    ['priority', 'smallint'],
    ['tenant', 'text'],
    ['gate', 'text'],
  ],
  sum: 'depth',
})

/** Groups of dead letters of which none is left. */
export const sweepLetterCounts = zeroSums({
  name: 'retention_sweep_letter_counts',
  table: 'dead_letter_counts',
  key: [
    ['tenant', 'text'],
    ['queue', 'text'],
    ['task_type', 'text'],
    ['fingerprint', 'text'],
  ],
  sum: 'letters',
})
