import type pg from 'pg'

/** Finished tasks stand in so many whole days, of which the last is the day before yesterday. */
export const filledDays = 30

/** The tenant with the most tasks, one in ten. */
export const bigTenant = 'tenant-0'
/** One of the many: some 15 tasks in 10,000, so that neither it nor a rare status leads to the other soon. */
export const middleTenant = 'tenant-100'
/** The tenant with 1,000 tasks, spread over all days. */
export const smallTenant = 'tenant-small'
const smallTenantTasks = 1_000

/** Tasks that a workflow's 200 lie among: one in a hundred. */
export const workflowSpan = 20_000
/** Each has one task in a thousand. */
const crons = 20

/** Ids by number, of workflows and cron tasks. */
export const workflowUuid = (number: number): string =>
  `00000000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`
export const cronUuid = (number: number): string => `00000000-0000-7000-9000-${number.toString(16).padStart(12, '0')}`

const payload = JSON.stringify({ to: 'someone@example.com', template: 'receipt', locale: 'en' })
const result = JSON.stringify({ accepted: true })

/** Open tasks beside so many finished ones. */
export const openTasks = (size: number): number => Math.min(100_000, Math.floor(size / 10))

const uuidAt = (ms: string, n: string): string =>
  `(lpad(to_hex((${ms})::bigint), 12, '0') || '70008' || lpad(to_hex(${n}), 15, '0'))::uuid`

/** Between 0 and 1: as if drawn, and the same at every run. */
const drawn = (n: string): string => `((hashint8extended(${n}, 1) & 1073741823) / 1073741824.0)`

/** 999 tenants of which the first has the most: the cube bends the even draw. */
const tenant = (n: string): string => `'tenant-' || floor(999 * ${drawn(n)} ^ 3)::integer`

const taskColumns = `id, tenant, task_type, queue, priority, created_at, scheduled_at, max_retries, retry_backoff, retry_jitter,
  retry_delay_ms, retry_max_delay_ms, timeout_ms, payload, workflow_id, cron_id`

const retryValues = `3, 'exponential', 'full', 1000, 3600000, 300000`

/** The tasks $2 to below $3 of $4, all of the day $1, evenly over it. */
const insertTasks = (table: string): string => `
insert into ${table} (${taskColumns})
select ${uuidAt('m.ms', 'm.n')}, m.tenant, 'type-' || m.n % 50, 'queue-' || m.n % 20, 1 + m.n % 3, to_timestamp(m.ms / 1000), null,
  ${retryValues}, $5::text,
  case when m.n % 100 = 7 then ('00000000-0000-7000-8000-' || lpad(to_hex(m.n / ${workflowSpan}), 12, '0'))::uuid end,
  case when m.n % 50 = 3 then ('00000000-0000-7000-9000-' || lpad(to_hex(m.n / 50 % ${crons}), 12, '0'))::uuid end
from (
  select n, extract(epoch from $1::timestamptz) * 1000 + floor(86399000.0 * (n - $2::bigint) / ($3::bigint - $2::bigint)) as ms,
    case when n % ($4::bigint / ${smallTenantTasks}) = 0 and n / ($4::bigint / ${smallTenantTasks}) < ${smallTenantTasks}
      then '${smallTenant}' else ${tenant('n')} end as tenant
  from generate_series($2::bigint, $3::bigint - 1) n
) m`

/** How the tasks ended: 97 % well. */
const insertOutcomes = (tasks: string, outcomes: string): string => `
insert into ${outcomes} (id, status, completed_at, started_at, attempt, failures, crashes, undelivered, snoozes, releases, run,
  worker_name, error_class, error_message, result)
select m.id, m.status, m.created_at + interval '900 milliseconds', m.created_at + interval '20 milliseconds', 1,
  m.failed::integer, 0, 0, 0, 0, 1, 'worker-1',
  case when m.failed then 'Error' end, case when m.failed then 'no answer' end, case m.status when 'SUCCEEDED' then $1::text end
from (
  select id, created_at, status, status in ('FAILED', 'DEAD') as failed from (
    select id, created_at, case when draw < 970 then 'SUCCEEDED' when draw < 985 then 'FAILED' when draw < 990 then 'DEAD'
      else 'CANCELLED' end as status
    from (select id, created_at, (uuid_hash_extended(id, 2) & 1073741823) % 1000 as draw from ${tasks}) d
  ) s
) m`

const insertDeadLetters = (tasks: string, outcomes: string): string => `
insert into dead_letters (task_id, tenant, queue, task_type, died_at, error_class, error_message)
select t.id, t.tenant, t.queue, t.task_type, u.completed_at, u.error_class, u.error_message
from ${outcomes} u join ${tasks} t on t.id = u.id where u.status = 'DEAD'`

const insertFailedAttempts = (outcomes: string): string => `
insert into failed_attempts (task_id, attempt, run, outcome, worker_name, started_at, ended_at, error_class, error_message)
select id, 1, 1, 'failed', worker_name, started_at, completed_at, error_class, error_message from ${outcomes} where failures > 0`

export interface SizeFill {
  /** Finished tasks. */
  readonly size: number
  /** Midnight (UTC) of the first day, ms since 1970. */
  readonly firstDayMs: number
  readonly log: (line: string) => void
}

/**
 * Fills a migrated database day by day. A day's two tables are made as `duly_make_day` makes them, but filled before they are
 * attached: the attach then builds their indexes at once, as `migrate` does for days that lack one.
 */
export async function fillDays(client: pg.Client, { size, firstDayMs, log }: SizeFill): Promise<void> {
  await client.query(`set synchronous_commit = off; set maintenance_work_mem = '256MB'`)
  const began = performance.now()
  for (let day = 0; day < filledDays; day++) {
    const from = Math.floor((size * day) / filledDays)
    const to = Math.floor((size * (day + 1)) / filledDays)
    await fillDay(client, { at: new Date(firstDayMs + day * 86_400_000), from, to, size })
    const seconds = (performance.now() - began) / 1_000
    log(`filled ${to.toLocaleString('en')} of ${size.toLocaleString('en')} finished tasks (${seconds.toFixed(0)} s)`)
  }
}

interface Day {
  readonly at: Date
  readonly from: number
  readonly to: number
  readonly size: number
}

async function fillDay(client: pg.Client, { at, from, to, size }: Day): Promise<void> {
  const date = at.toISOString().slice(0, 10)
  const suffix = date.replaceAll('-', '')
  const [tasks, outcomes] = [`tasks_${suffix}`, `outcomes_${suffix}`]
  for (const parent of ['tasks', 'outcomes']) {
    await client.query(
      `create table ${parent}_${suffix} (like ${parent} including defaults including constraints) with (toast_tuple_target = 8160)`,
    )
  }
  await client.query(insertTasks(tasks), [at, from, to, size, payload])
  await client.query(insertOutcomes(tasks, outcomes), [result])
  for (const parent of ['tasks', 'outcomes']) {
    const { rows } = await client.query<{ lower: string; upper: string }>(
      'select duly_day_bound($1::date) as lower, duly_day_bound($1::date + 1) as upper',
      [date],
    )
    await client.query(
      `alter table ${parent} attach partition ${parent}_${suffix} for values from ('${rows[0]?.lower}') to ('${rows[0]?.upper}')`,
    )
  }
  await client.query(insertDeadLetters(tasks, outcomes))
  await client.query(insertFailedAttempts(outcomes))
  await client.query(`vacuum (analyze) ${tasks}, ${outcomes}`)
}

/**
 * $1 open tasks of the last 24 hours, each with what its status asks for; all that is due is due in a month, so that they stay
 * as they are while no worker is there. The running ones are held by sessions of 20 slots each that live for a day.
 */
const insertOpen = `
with made as materialized (
  select n, ${uuidAt('ms', 'n')} as id, ${tenant('n')} as tenant, 'queue-' || n % 20 as queue, 'type-' || n % 50 as task_type,
    1 + n % 3 as priority, to_timestamp(ms / 1000) as created_at, now() + interval '30 days' as due_at,
    case when n % 50 < 25 then 'PENDING' when n % 50 < 40 then 'SCHEDULED' when n % 50 < 45 then 'RETRYING'
      when n % 50 < 49 then 'BLOCKED' else 'RUNNING' end as status,
    ('00000000-0000-7000-a000-' || lpad(to_hex(n / 1000), 12, '0'))::uuid as holder
  from (
    select n, floor(extract(epoch from now()) * 1000 - 86400000.0 * n / $1::bigint) as ms from generate_series(0::bigint, $1::bigint - 1) n
  ) m
),
asked as (
  insert into tasks (${taskColumns})
  select id, tenant, task_type, queue, priority, created_at, case status when 'SCHEDULED' then due_at end, ${retryValues}, $2::text, null, null
  from made
),
opened as (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, due_at, ready_at, wake_at, timeout_ms, attempt,
    failures, session, token, grant_no, started_at, deadline_at, blockers)
  select id, 0, status, tenant, queue, task_type, priority, case when status in ('SCHEDULED', 'RETRYING') then due_at end,
    case status when 'PENDING' then created_at end, case when status in ('SCHEDULED', 'RETRYING', 'RUNNING') then due_at end,
    300000, (status in ('RETRYING', 'RUNNING'))::integer, (status = 'RETRYING')::integer,
    case status when 'RUNNING' then holder end, case status when 'RUNNING' then n end, case status when 'RUNNING' then 1 end,
    case status when 'RUNNING' then now() end, case status when 'RUNNING' then due_at end, (status = 'BLOCKED')::integer
  from made
),
failed as (
  insert into failed_attempts (task_id, attempt, run, outcome, started_at, ended_at, error_class, error_message, retry_delay_ms)
  select id, 1, 1, 'failed', created_at, created_at, 'Error', 'no answer', 1000 from made where status = 'RETRYING'
),
counted as (
  insert into counters (queue, priority, tenant, gate, slot, depth)
  select queue, priority, tenant, '', 99, count(*) from made where status = 'PENDING' group by queue, priority, tenant
),
held as (
  insert into session_grants (session, last_grant, received) select distinct holder, 1, 1 from made where status = 'RUNNING'
)
insert into worker_sessions (id, name, queues, task_types, slots, heartbeat_ms, lease_ms, registered_at, beat_at, live_until)
select distinct holder, 'worker', array['queue-0'], array['type-0'], 20, 5000, 86400000, now(), now(), now() + interval '1 day'
from made where status = 'RUNNING'`

const insertNames = `
with types as (insert into task_types (name) select 'type-' || n from generate_series(0, 49) n on conflict do nothing),
owners as (
  insert into tenants (id) select 'tenant-' || n from generate_series(0, 998) n union all select '${smallTenant}' on conflict do nothing
)
insert into queues (name) select 'queue-' || n from generate_series(0, 19) n on conflict do nothing`

/** Open tasks of every status, with the sessions, counters and names that belong to them. */
export async function fillOpen(client: pg.Client, count: number): Promise<void> {
  await client.query(insertNames)
  await client.query(insertOpen, [count, payload])
  await client.query('vacuum (analyze) open_tasks, dead_letters, failed_attempts, counters, worker_sessions')
}
