import type pg from 'pg'
import { taskType } from './payload.js'

/** Tasks that PostgreSQL makes itself, in random partitions. */
export interface Scheduled {
  readonly count: number
  readonly queue: string
  /** The first is due so long from now, the last so much later, ms. */
  readonly afterMs: number
  readonly spreadMs: number
  readonly payload: string
}

/** $1 tasks; they follow each other in their ids as in their due times, and those of one chunk are of one instant. */
const schedule = `
with made as materialized (
  select n, (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 64), 3, '0')
      || '8' || substr(md5(random()::text || n), 1, 15))::uuid as id,
    n % 64 as partition,
    date_trunc('milliseconds', now() + ($3::float8 + $4::float8 * n / $1::bigint) * interval '1 millisecond') as due_at
  from generate_series(0, $1::bigint - 1) n
),
asked as (
  insert into tasks (id, tenant, task_type, queue, priority, created_at, scheduled_at, max_retries, retry_backoff, retry_jitter,
    retry_delay_ms, retry_max_delay_ms, timeout_ms, payload)
  select id, 'default', $5::text, $2::text, 2, now(), due_at, 3, 'fixed', 'none', 1000, 1000, 300000, $6::text from made
)
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, due_at, wake_at, timeout_ms)
select id, partition, 'SCHEDULED', 'default', $2::text, $5::text, 2, due_at, due_at, 300000 from made`

const chunk = 200_000

/** Makes them in chunks, each spread over the whole span. */
export async function fillScheduled(client: pg.Client, { count, queue, ...span }: Scheduled): Promise<void> {
  const began = performance.now()
  for (let done = 0; done < count; done += chunk) {
    const afterMs = span.afterMs - (performance.now() - began)
    const values = [Math.min(chunk, count - done), queue, afterMs, span.spreadMs, taskType, span.payload]
    await client.query(schedule, values)
  }
}
