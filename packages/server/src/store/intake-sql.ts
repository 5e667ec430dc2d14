import type { Uuid } from '@duly/domain'
import type { NewTask } from '../model.js'
import { grantTo } from '../queue/postgres/claim-sql.js'
import { type Statement, unnested } from './database.js'
import type { MintedTask } from './intake-store.js'
import {
  bigintArray,
  instantArray,
  int2Array,
  int4Array,
  int8Array,
  textArray,
  textArrayLiteral,
  uuidArray,
} from './params.js'
import { addDepths } from './transition-parts.js'

/** What is asked of a task, in the order of the parameters; see {@link askedValues}. */
export const askedColumns = [
  ['id', 'uuid'],
  ['partition', 'smallint'],
  ['tenant', 'text'],
  ['queue', 'text'],
  ['task_type', 'text'],
  ['priority', 'smallint'],
  ['scheduled_at', 'timestamptz'],
  ['delay_ms', 'bigint'],
  ['expires_at', 'timestamptz'],
  ['max_retries', 'integer'],
  ['retry_backoff', 'text'],
  ['retry_jitter', 'text'],
  ['retry_delay_ms', 'bigint'],
  ['retry_max_delay_ms', 'bigint'],
  ['timeout_ms', 'bigint'],
  ['result_ttl_ms', 'bigint'],
  ['idempotency_key', 'text'],
  ['concurrency_key', 'text'],
  ['tags', 'text'],
  ['metadata', 'text'],
  ['payload', 'text'],
  ['traceparent', 'text'],
] as const

const input = unnested([
  ...askedColumns,
  ['session', 'uuid'],
  ['token', 'bigint'],
  ['cron_id', 'uuid'],
  ['blockers', 'integer'],
  ['submitted_by', 'uuid'],
])

/** The rows of `tasks`, from rows `i` that have what is asked; `more` are columns that have their own names there. */
export const storeTasks = (from: string, scheduledAt: string, more: readonly string[]): string => `
  insert into tasks (id, tenant, task_type, queue, priority, created_at, scheduled_at, expires_at, max_retries,
    retry_backoff, retry_jitter, retry_delay_ms, retry_max_delay_ms, timeout_ms, result_ttl_ms, idempotency_key,
    concurrency_key, tags, metadata, payload, traceparent, ${more.join(', ')})
  select i.id, i.tenant, i.task_type, i.queue, i.priority, now(), ${scheduledAt}, i.expires_at, i.max_retries,
    i.retry_backoff, i.retry_jitter, i.retry_delay_ms, i.retry_max_delay_ms, i.timeout_ms, i.result_ttl_ms,
    i.idempotency_key, i.concurrency_key, i.tags::text[], i.metadata, i.payload, i.traceparent,
    ${more.map((column) => `i.${column}`).join(', ')}
  from ${from} i`

/** Counts new tasks that are PENDING into their lanes: none of them has a gate. */
export const countPlaced = (slot: string): string =>
  addDepths(`select p.queue, p.priority, p.tenant, '', ${slot}::integer, count(*) from placed p where p.status = 'PENDING'
  group by 1, 2, 3 order by 1, 2, 3`)

/**
 * Tasks, their open rows and the depth of their lanes in one statement, so in one commit: I1 needs no more than its
 * answer. A row with a session is handed to that waiting worker (inserted as RUNNING) if it is due, its queue is not
 * paused, it has not expired and the session lives and is served by this node; else it waits like any other. created_at and due times are the
 * store's (I8). A scheduled_at in the past means now and gains no place in the lane.
 */
export const insertTasks: Statement = {
  name: 'insert_tasks',
  text: `
with input as materialized (${input}),
granted as materialized (
  ${grantTo('$28::uuid[]', '$31::uuid')}
),
judged as (
  select i.*, coalesce(i.scheduled_at, now() + i.delay_ms * interval '1 millisecond') as due, g.last_grant
  from input i left join granted g on i.session is not null and g.id = i.session
    and coalesce(i.scheduled_at <= now(), i.delay_ms is null or i.delay_ms <= 0)
    and (i.expires_at is null or i.expires_at > now())
    and not exists (select 1 from queues q where q.name = i.queue and q.paused)
),
placed as (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, due_at, ready_at, wake_at,
    expires_at, timeout_ms, result_ttl_ms, concurrency_key, attempt, session, token, grant_no, started_at, deadline_at,
    cron_id, blockers)
  select j.id, j.partition,
    case when j.blockers > 0 then 'BLOCKED' when j.due > now() then 'SCHEDULED'
      when j.last_grant is not null then 'RUNNING' else 'PENDING' end,
    j.tenant, j.queue, j.task_type, j.priority,
    case when j.due > now() then j.due end,
    case when j.blockers > 0 or j.due > now() then null else now() end,
    case when j.last_grant is not null then now() + (j.timeout_ms + $29::bigint) * interval '1 millisecond'
      when j.due > now() then least(j.due, j.expires_at) else j.expires_at end,
    j.expires_at, j.timeout_ms, j.result_ttl_ms, j.concurrency_key,
    case when j.last_grant is null then 0 else 1 end,
    case when j.last_grant is not null then j.session end,
    case when j.last_grant is not null then j.token end,
    j.last_grant,
    case when j.last_grant is not null then now() end,
    case when j.last_grant is not null then now() + j.timeout_ms * interval '1 millisecond' end, j.cron_id, j.blockers
  from judged j
  returning id, status, tenant, queue, priority, due_at, grant_no, deadline_at
),
stored as (${storeTasks('input', "coalesce(i.scheduled_at, now() + nullif(i.delay_ms, 0) * interval '1 millisecond')", ['cron_id', 'submitted_by'])}
),
counted as (${countPlaced('$30')})
select p.id, p.status, date_part('epoch', now()) * 1000 as "createdAtMs", date_part('epoch', p.due_at) * 1000 as "dueAtMs",
  p.grant_no as "grant", date_part('epoch', p.deadline_at) * 1000 as "deadlineAtMs"
from placed p`,
}

/** The parameters of {@link askedColumns}. */
export function askedValues(rows: readonly Pick<MintedTask, 'id' | 'partition' | 'task'>[]): Buffer[] {
  const of = <T>(pick: (task: NewTask) => T): T[] => rows.map((row) => pick(row.task))
  return [
    uuidArray(rows.map((row) => row.id)),
    int2Array(rows.map((row) => row.partition)),
    textArray(of((task) => task.tenant)),
    textArray(of((task) => task.queue)),
    textArray(of((task) => task.taskType)),
    int2Array(of((task) => task.priority)),
    instantArray(of((task) => task.scheduledAtMs)),
    int8Array(of((task) => (task.delayMs === null ? null : Math.round(task.delayMs)))),
    instantArray(of((task) => task.expiresAtMs)),
    int4Array(of((task) => task.maxRetries)),
    textArray(of((task) => task.backoff)),
    textArray(of((task) => task.jitter)),
    int8Array(of((task) => Math.round(task.retryDelayMs))),
    int8Array(of((task) => Math.round(task.retryMaxDelayMs))),
    int8Array(of((task) => Math.round(task.timeoutMs))),
    int8Array(of((task) => (task.resultTtlMs === null ? null : Math.round(task.resultTtlMs)))),
    textArray(of((task) => task.idempotencyKey)),
    textArray(of((task) => task.concurrencyKey)),
    textArray(of((task) => textArrayLiteral(task.tags))),
    textArray(of((task) => task.metadata)),
    textArray(of((task) => task.payload)),
    textArray(of((task) => task.traceparent)),
  ]
}

/** Sessions that rows are to be handed to, each once. */
export function sessionsOf(rows: readonly Pick<MintedTask, 'handoff'>[]): Uuid[] {
  const sessions = new Set<Uuid>()
  for (const row of rows) if (row.handoff) sessions.add(row.handoff.session)
  return [...sessions].sort()
}

/** The parameters of {@link insertTasks}; `slot` names the counters that this writer alone adds to. */
export function insertValues(
  rows: readonly MintedTask[],
  { slot, graceMs, node }: { slot: number; graceMs: number; node: Uuid },
): unknown[] {
  return [
    ...askedValues(rows),
    uuidArray(rows.map((row) => row.handoff?.session ?? null)),
    bigintArray(rows.map((row) => row.handoff?.token ?? null)),
    uuidArray(rows.map((row) => row.cron?.id ?? null)),
    int4Array(rows.map((row) => (row.cron?.isBlocked ? 1 : 0))),
    uuidArray(rows.map(({ task }) => task.submittedBy ?? null)),
    uuidArray(sessionsOf(rows)),
    graceMs,
    slot,
    node,
  ]
}

/** Keys in the order (tenant, key), so that two groups never lock each other out, the first of twins first; says which were won. */
export const insertKeys: Statement = {
  name: 'insert_keys',
  text: `
insert into idempotency_keys (tenant, key, task_id, request_hash, created_at)
select k.tenant, k.key, k.task_id, k.request_hash, now()
from unnest($1::text[], $2::text[], $3::uuid[], $4::bytea[]) with ordinality as k (tenant, key, task_id, request_hash, place)
order by k.tenant, k.key, k.place
on conflict (tenant, key) do nothing
returning task_id as id`,
}

/** Who holds these keys; a second statement, since the first one's snapshot can't see who won against it. */
export const readKeys: Statement = {
  name: 'read_keys',
  text: `
select h.task_id as id, h.tenant, h.key, h.request_hash as "requestHash"
from unnest($1::text[], $2::text[]) as k (tenant, key)
cross join lateral (select h.* from idempotency_keys h where h.tenant = k.tenant and h.key = k.key limit 1) h`,
}

/** Where tasks stand that an earlier submission made, or whose commit got no answer. */
export const readStanding: Statement = {
  name: 'read_standing',
  text: `
select t.id, coalesce(u.status, o.status) as status, date_part('epoch', t.created_at) * 1000 as "createdAtMs",
  date_part('epoch', t.scheduled_at) * 1000 as "scheduledAtMs"
from unnest($1::uuid[]) as i (id)
cross join lateral (select t.* from tasks t where t.id = i.id limit 1) t
left join lateral (select u.status from outcomes u where u.id = i.id limit 1) u on true
left join lateral (select o.status from open_tasks o where o.id = i.id limit 1) o on true`,
}

/**
 * Wanted are names that are not there, or, by a key that is bound to the tenant $4, that its keys have not used yet, there or not. They
 * come into being and into use if all of them fit below the limit of their kind, $3, and below the tenant's share, $5. To a bound key a
 * name of others costs at both bounds what a new one costs, so that neither tells it what there is. At the very limit as many more
 * may slip in as statements of this kind run at once.
 */
export const registerNames: Statement = {
  name: 'register_names',
  text: `
with used as materialized (
  select u.kind, u.name from tenant_names u where u.tenant = $4::text
),
wanted_queues as materialized (
  select distinct i.name from unnest($1::text[]) as i (name)
  where case when $4::text is null then not exists (select from queues q where q.name = i.name)
    else not exists (select from used u where u.kind = 'queue' and u.name = i.name) end
),
wanted_types as materialized (
  select distinct i.name from unnest($2::text[]) as i (name)
  where case when $4::text is null then not exists (select from task_types t where t.name = i.name)
    else not exists (select from used u where u.kind = 'task_type' and u.name = i.name) end
),
taken_queues as materialized (
  select w.name from wanted_queues w
  where (select count(*) from queues) + (select count(*) from wanted_queues) <= $3::integer
    and ($4::text is null or $5::integer >=
      (select count(*) from used u where u.kind = 'queue') + (select count(*) from wanted_queues))
),
taken_types as materialized (
  select w.name from wanted_types w
  where (select count(*) from task_types) + (select count(*) from wanted_types) <= $3::integer
    and ($4::text is null or $5::integer >=
      (select count(*) from used u where u.kind = 'task_type') + (select count(*) from wanted_types))
),
q as (
  insert into queues (name) select n.name from taken_queues n order by n.name on conflict do nothing
),
t as (
  insert into task_types (name) select n.name from taken_types n order by n.name on conflict do nothing
)
insert into tenant_names (tenant, kind, name)
select $4::text, n.kind, n.name
from (select 'queue' as kind, name from taken_queues union all select 'task_type', name from taken_types) n
where $4::text is not null order by n.kind, n.name on conflict do nothing`,
}

/**
 * Which names exist, for a tenant $3: are in its use; a second statement, since the first one's snapshot can't see what others
 * registered meanwhile.
 */
export const knownNames: Statement = {
  name: 'known_names',
  text: `
select array(select q.name from queues q where q.name = any ($1::text[]) and ($3::text is null
    or exists (select from tenant_names u where u.tenant = $3::text and u.kind = 'queue' and u.name = q.name))) as queues,
  array(select t.name from task_types t where t.name = any ($2::text[]) and ($3::text is null
    or exists (select from tenant_names u where u.tenant = $3::text and u.kind = 'task_type' and u.name = t.name))) as types`,
}

export const makeDays: Statement = {
  name: 'make_days',
  text: `select duly_make_day(day::date) from unnest($1::timestamptz[]) as d (at), lateral (select (d.at at time zone 'UTC')::date) as x (day)`,
}
