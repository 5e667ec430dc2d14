import { errorRules, statusGuard } from '@duly/domain'
import { byKey, type Statement, unnested } from './database.js'
import { ms } from './record-sql.js'

const addLetters = `on conflict (tenant, queue, task_type, fingerprint, slot)
    do update set letters = dead_letter_counts.letters + excluded.letters`

/** Counts dead letters that came or went (`-`), by group; those that have no fingerprint yet are not counted. */
export const countLetters = (rows: string, sign: '' | '-', slot: string): string => `
  insert into dead_letter_counts (queue, task_type, tenant, fingerprint, slot, letters)
  select r.queue, r.task_type, r.tenant, r.fingerprint, ${slot}::integer, ${sign}count(*)
  from ${rows} r where r.fingerprint is not null group by 1, 2, 3, 4 order by 1, 2, 3, 4
  ${addLetters}`

/** What a list of dead letters walks along, the latest first: the index whose every entry fits one filter, or two. */
const letterWalks = ['all', 'queue', 'tenant', 'group', 'tenant_group'] as const
export type LetterWalk = (typeof letterWalks)[number]

/**
 * Parameters of every walk: $1 died before, or then and $2 ids before it, $3 rows wanted, $4 rows looked at, $5 tenant, $6 queue,
 * $7 task type, $8 class of the error, $9 fingerprint.
 */
const leads: Readonly<Record<LetterWalk, string>> = {
  all: '',
  queue: 'd.queue = $6::text and ',
  tenant: 'd.tenant = $5::text and ',
  group: 'd.fingerprint = $9::text and ',
  tenant_group: 'd.tenant = $5::text and d.fingerprint = $9::text and ',
}

const walk = (along: LetterWalk): string => `
  select d.* from dead_letters d
  where ${leads[along]}(d.died_at, d.task_id) < ($1::timestamptz, $2::uuid)
  order by d.died_at desc, d.task_id desc`

/** The filters, in the order of their parameters from `first` on. */
const fitsFrom = (first: number): string =>
  ['tenant', 'queue', 'task_type', 'error_class', 'fingerprint']
    .map((column, place) => `($${first + place}::text is null or d.${column} = $${first + place})`)
    .join(' and ')

const fits = fitsFrom(5)

/** The place of a letter as the key of a page: to the microsecond. */
const place = (letter: string): string =>
  `to_char(${letter}.died_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || ' ' || ${letter}.task_id`

/** One page; `edge` is the last letter that was looked at when they yield fewer rows than wanted, or null: that was all. */
function paged(along: LetterWalk, name: string, told: string): Statement {
  return {
    name: `${name}_${along}`,
    text: `
with page as materialized (
  select d.* from (${walk(along)} limit $4::integer) d where ${fits} order by d.died_at desc, d.task_id desc limit $3::integer
)
select case when (select count(*) from page) < $3::integer then (
    select ${place('e')} from (${walk(along)} limit 1 offset $4::integer - 1) e) end as edge, r.*
from (select true) one left join (${told}) r on true
order by r.died_at desc, r.id desc`,
  }
}

/** Letters as they are told, with what their records add. */
const letters = `
  select d.task_id as id, d.died_at, ${place('d')} as place, d.tenant, d.task_type as "taskType", d.queue,
    ${ms('t.created_at', 'createdAtMs')}, ${ms('d.died_at', 'diedAtMs')},
    (u.attempt - (select count(*) from failed_attempts n where n.task_id = d.task_id and n.outcome = 'undelivered'))::integer
      as attempts, u.failures, u.crashes, coalesce(d.error_class, '') as "errorClass",
    coalesce(d.error_message, '') as "errorMessage", coalesce(d.error_pattern, '') as "errorPattern",
    coalesce(d.fingerprint, repeat('0', 16)) as fingerprint
  from page d
  cross join lateral (select t.created_at from tasks t where t.id = d.task_id limit 1) t
  cross join lateral (select u.attempt, u.failures, u.crashes from outcomes u where u.id = d.task_id limit 1) u`

/** Letters of one workflow: $1 its id, $2 died before, the rest as of the walks, from $3 on. */
export const lettersOfWorkflow: Statement = {
  name: 'letters_of_workflow',
  text: `
select d.task_id as id
from workflow_nodes n cross join lateral (select d.* from dead_letters d where d.task_id = n.id limit 1) d
where n.workflow_id = $1 and d.died_at < $2::timestamptz and ${fitsFrom(3)}`,
}

/** Which tasks, for whoever acts on them. */
const candidates = `
  select d.task_id as id, d.died_at, ${place('d')} as place, t.workflow_id as "workflowId"
  from page d cross join lateral (select t.workflow_id from tasks t where t.id = d.task_id limit 1) t`

const each = (name: string, told: string) =>
  Object.fromEntries(letterWalks.map((along) => [along, paged(along, name, told)])) as Readonly<
    Record<LetterWalk, Statement>
  >

export const letterLists = each('list_letters', letters)
export const letterCandidates = each('letter_candidates', candidates)

/**
 * The largest groups, from the counts: $1 tenant, $2 queue, $3 task type, $4 groups wanted, $5 sums looked at. Their text and their
 * ends are looked up in the letters themselves; a group whose last letter went in this instant is left out.
 */
function summaryOf(name: string, { counts, letter }: { readonly counts: string; readonly letter: string }): Statement {
  const look = (direction: string): string => `
    select d.task_id, d.error_class, d.error_pattern, d.died_at from dead_letters d
    where ${letter}d.fingerprint = g.fingerprint order by d.died_at ${direction}, d.task_id ${direction} limit 1`
  return {
    name,
    text: `
with looked as materialized (
  select c.* from dead_letter_counts c ${counts}
  order by c.tenant, c.queue, c.task_type, c.fingerprint, c.slot limit $5::integer
),
grouped as materialized (
  select c.queue, c.task_type, c.fingerprint, sum(c.letters) as letters from looked c
  where ($2::text is null or c.queue = $2) and ($3::text is null or c.task_type = $3)
  group by 1, 2, 3 having sum(c.letters) > 0
),
largest as materialized (
  select g.* from grouped g order by g.letters desc, g.queue, g.task_type, g.fingerprint limit $4::integer
)
select (select count(*) < $5::integer from looked) as "isComplete",
  (select coalesce(sum(g.letters), 0)::float8 from grouped g) as total, (select count(*)::integer from grouped) as groups, r.*
from (select true) one left join (
  select g.fingerprint, g.queue, g.task_type as "taskType", g.letters::float8 as letters,
    coalesce(n.error_class, '') as "errorClass", coalesce(n.error_pattern, '') as "errorPattern", n.task_id as "sampleId",
    ${ms('n.died_at', 'newestAtMs')}, ${ms('o.died_at', 'oldestAtMs')}
  from largest g cross join lateral (${look('desc')}) n cross join lateral (${look('asc')}) o
) r on true
order by r.letters desc, r.queue, r."taskType", r.fingerprint`,
  }
}

export const summaries = {
  all: summaryOf('summarize_letters', { counts: 'where $1::text is null', letter: '' }),
  tenant: summaryOf('summarize_letters_of', {
    counts: 'where c.tenant = $1::text',
    letter: 'd.tenant = $1::text and ',
  }),
} as const

/**
 * Discard: the outcome is marked, which is the compare-and-set, and the letter goes. $1 ids, $2 actor, $3 reason, $4 slot, $5 tenant,
 * $6 only what ended before this.
 */
export const discard: Statement = {
  name: 'discard',
  text: `
with marked as materialized (
  update outcomes u set discarded_at = now()
  from (select unnest($1::uuid[]) as id) i
  where ${byKey('u.id', 'i.id')} and ${statusGuard('discard', 'u.status')} and u.discarded_at is null
    and ($6::timestamptz is null or u.completed_at < $6)
    and ($5::text is null or (select t.tenant from tasks t where t.id = u.id limit 1) = $5)
  returning u.id
),
buried as (
  delete from dead_letters d using marked m where d.task_id = m.id returning d.tenant, d.queue, d.task_type, d.fingerprint
),
letters_counted as (${countLetters('buried', '-', '$4')}),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, actor, reason)
  select id, now(), 'discard', 'DEAD', 'DEAD', $2, $3 from marked
)
select id from marked`,
}

/** Dead letters by queue, of the first $1 sums. */
export const lettersByQueue: Statement = {
  name: 'letters_by_queue',
  text: `
select c.queue, sum(c.letters)::float8 as letters from (
  select c.queue, c.letters from dead_letter_counts c
  order by c.tenant, c.queue, c.task_type, c.fingerprint, c.slot limit $1::integer) c
group by 1 having sum(c.letters) > 0 order by 1`,
}

/** Is it a dead letter? */
export const findLetter: Statement = {
  name: 'find_letter',
  text: `select from dead_letters d where d.task_id = $1 and ($2::text is null or d.tenant = $2)`,
}

/** Letters of older rules, or with none. */
export const bareLetters: Statement = {
  name: 'bare_letters',
  text: `
select d.task_id as id, coalesce(d.error_message, '') as "errorMessage" from dead_letters d
where d.pattern_rules < ${errorRules} order by d.task_id limit $1`,
}

/** Gives them what groups them by the rules of today, and counts them there. $1 ids, $2 patterns, $3 slot. */
export const fillLetters: Statement = {
  name: 'fill_letters',
  text: `
with old as materialized (
  select d.task_id, d.tenant, d.queue, d.task_type, d.fingerprint, i.error_pattern
  from (${unnested([
    ['id', 'uuid'],
    ['error_pattern', 'text'],
  ])}) i cross join lateral (
    select d.* from dead_letters d where d.task_id = i.id and d.pattern_rules < ${errorRules} limit 1 for update) d
),
filled as (
  update dead_letters d set error_pattern = o.error_pattern, pattern_rules = ${errorRules},
    fingerprint = duly_fingerprint(d.queue, d.task_type, coalesce(d.error_class, ''), o.error_pattern)
  from old o where d.task_id = o.task_id
  returning d.tenant, d.queue, d.task_type, d.fingerprint
),
moved as (
  select f.tenant, f.queue, f.task_type, f.fingerprint, 1 as letters from filled f
  union all
  select o.tenant, o.queue, o.task_type, o.fingerprint, -1 from old o where o.fingerprint is not null
)
insert into dead_letter_counts (queue, task_type, tenant, fingerprint, slot, letters)
select m.queue, m.task_type, m.tenant, m.fingerprint, $3::integer, sum(m.letters)
from moved m group by 1, 2, 3, 4 having sum(m.letters) <> 0 order by 1, 2, 3, 4
${addLetters}`,
}
