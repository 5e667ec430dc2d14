import type { Uuid } from '@duly/domain'
import type { TestNode } from '../../../testing/test-node.js'

/** Finished by a worker, cancelled before it ran, waiting for a far day, or dead and not discarded. */
export type OldState = 'succeeded' | 'cancelled' | 'open' | 'dead'

export interface OldTask {
  readonly id: Uuid
  readonly state: OldState
}

/** Adds tasks by one statement, made now by the store's clock; those that are finished ended now. Payloads are `{}`. */
export function addOldTasks(node: TestNode, counts: Partial<Record<OldState, number>>): Promise<OldTask[]> {
  const states = Object.entries(counts).flatMap(([state, count]) => Array<string>(count).fill(state))
  return node.query<OldTask>(
    `with made as materialized (
      select (lpad(to_hex((extract(epoch from now()) * 1000)::bigint), 12, '0') || '70008'
        || substr(md5(random()::text || state || place), 1, 15))::uuid as id, state
      from unnest($1::text[]) with ordinality as s (state, place)
    ),
    asked as (
      insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter,
        retry_delay_ms, retry_max_delay_ms, timeout_ms, payload)
      select id, 'acme', 'succeed', 'default', 2, now(), 0, 'fixed', 'none', 100, 1000, 60000, '{}' from made
    ),
    waiting as (
      insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, due_at, wake_at, timeout_ms)
      select id, 0, 'SCHEDULED', 'acme', 'default', 'succeed', 2, now() + interval '300 days', now() + interval '300 days', 60000
      from made where state = 'open'
    ),
    ended as (
      insert into outcomes (id, status, completed_at, started_at, attempt, failures, crashes, undelivered, snoozes, releases,
        run, session, token)
      select id, upper(state), now(), case when state = 'succeeded' then now() end,
        case when state = 'succeeded' then 1 else 0 end, 0, 0, 0, 0, 0, 1,
        case when state = 'succeeded' then gen_random_uuid() end, case when state = 'succeeded' then 1 end
      from made where state <> 'open'
    ),
    letters as (
      insert into dead_letters (task_id, tenant, queue, task_type, died_at)
      select id, 'acme', 'default', 'succeed', now() from made where state = 'dead'
    )
    select id, state from made`,
    [states],
  )
}

/** What a rewrite must not leave behind: tables of its own, triggers, noted changes, its record. */
export async function looseEnds(node: TestNode): Promise<string[]> {
  const rows = await node.query<{ what: string }>(`
    select c.relname as what from pg_class c
    where c.relkind = 'r' and c.relname ~ '^(tasks|outcomes)_' and not exists (select from pg_inherits i where i.inhrelid = c.oid)
    union all select 'trigger on ' || t.tgrelid::regclass from pg_trigger t where t.tgname = 'retention_note'
    union all select 'job ' || suffix from retention_job
    union all select conrelid::regclass || ' ' || conname from pg_constraint where conname = 'next_range'`)
  return rows.map(({ what }) => what)
}
