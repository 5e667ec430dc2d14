import pg from 'pg'
import type { Options } from './options.js'
import { startStack } from './stack.js'
import { type Percentiles, percentilesOf } from './stats.js'

/** What work felt, ms: submissions answered, starts after submission, and a look-up by key that is repeated all the time. */
interface Felt {
  readonly answered: Percentiles
  readonly start: Percentiles
  readonly lookUp: Percentiles
}

/** A day of so many finished tasks, and open ones beside them, older than the retention. */
const fillDay = `
with made as materialized (
  select n, (lpad(to_hex((extract(epoch from date_trunc('day', now() - interval '40 days') + n * interval '300 microseconds') * 1000)::bigint), 12, '0')
    || '70008' || lpad(to_hex(n), 15, '0'))::uuid as id from generate_series(1, $1::integer) n
),
asked as (
  insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter,
    retry_delay_ms, retry_max_delay_ms, timeout_ms, payload)
  select id, 'default', 'old', 'old', 2, now() - interval '40 days', 3, 'fixed', 'none', 1, 1, 1000, $2::text from made
),
waiting as (
  insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, due_at, wake_at, timeout_ms)
  select id, 0, 'SCHEDULED', 'default', 'old', 'old', 2, now() + interval '90 days', now() + interval '90 days', 1000
  from made where n % 1000 = 0
)
insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run, result)
select id, 'CANCELLED', now() - interval '40 days', 0, 0, 0, 0, 0, 0, 1, $3::text from made where n % 1000 <> 0`

/** Removes a day of `rows` tasks while `rate` tasks a second run; prints what they felt without it and with it. */
export async function benchRetention(options: Options, rows: number): Promise<void> {
  const stack = await startStack(options, null)
  const client = new pg.Client({ connectionString: stack.databaseUrl })
  await client.connect()
  try {
    await stack.startWorker()
    await stack.producer.call('single', { count: options.tasks.warmUp, inFlight: options.inFlight })
    const felt = async (seconds: number): Promise<Felt> => {
      const since = await stack.database.now()
      const probe = startProbe(stack.databaseUrl)
      const { answered } = await stack.producer.call('openLoop', { rate: options.rate, seconds })
      return { answered, start: await stack.database.startDelays(since), lookUp: await probe() }
    }
    const without = await felt(options.seconds)
    await client.query(`select duly_make_day((now() - interval '40 days')::date)`)
    await client.query(fillDay, [rows, 'x'.repeat(options.payloadBytes), 'y'.repeat(1_000)])
    await client.query('checkpoint')
    await client.query('delete from retention_marks')
    const began = performance.now()
    const isThere = async () =>
      (
        await client.query(
          `select count(*)::integer as left from outcomes where id < duly_day_bound((now() - interval '39 days')::date)`,
        )
      ).rows[0].left > 0
    const during: Felt[] = []
    // the scheduler passes once a minute
    while (await isThere()) during.push(await felt(options.seconds))
    const seconds = (performance.now() - began) / 1000
    const kept = await client.query(`select count(*)::integer as kept from tasks where task_type = 'old'`)
    print('without', without)
    for (const [n, each] of during.entries()) print(`with, part ${n + 1}`, each)
    console.log(`${rows} tasks, ${kept.rows[0].kept} kept; gone ${seconds.toFixed(0)} s after the hour of the pass`)
  } finally {
    await client.end()
    await stack.stop()
  }
}

function print(name: string, { answered, start, lookUp }: Felt): void {
  const of = ({ p50, p99, max }: Percentiles) => `p50 ${p50.toFixed(1)}  p99 ${p99.toFixed(1)}  max ${max.toFixed(1)}`
  console.log(`${name.padEnd(14)} answered ${of(answered)} | start ${of(start)} | look-up ${of(lookUp)}  (ms)`)
}

/** Looks a task up all the time by a prepared plan; what it returns ends that and tells the times. */
function startProbe(url: string): () => Promise<Percentiles> {
  const times: number[] = []
  let isOver = false
  const probing = (async () => {
    const client = new pg.Client({ connectionString: url, options: '-c plan_cache_mode=force_generic_plan' })
    await client.connect()
    const text = 'select 1 from tasks t left join outcomes u on u.id = t.id where t.id = $1'
    while (!isOver) {
      const began = performance.now()
      await client.query({ name: 'probe', text, values: ['00000000-0000-0000-0000-000000000000'] })
      times.push(performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await client.end()
  })()
  return async () => {
    isOver = true
    await probing
    return percentilesOf(times)
  }
}
