import pg from 'pg'
import { memoryOf } from './cpu.js'
import type { Options } from './options.js'
import { Remote } from './remote.js'
import { startStack } from './stack.js'
import { fillScheduled } from './timer-fill.js'
import type { WorkerCalls } from './worker.js'

const burstQueue = 'burst'
/** Fresh tasks of another queue a second, meanwhile. */
const freshRate = 50
/** What PostgreSQL makes of such tasks a second, at least. */
const fillRate = 10_000

/** By how much a task was overtaken: the latest due time that was started before it, less its own. */
const order = `
with started as (
  select t.scheduled_at, max(t.scheduled_at) over (order by u.started_at, t.scheduled_at) as latest, u.started_at
  from tasks t join outcomes u using (id) where t.queue = $1
), overtaken as (select extract(epoch from latest - scheduled_at)::float8 * 1000 as ms from started)
select (select count(*)::integer from started) as count,
  (select extract(epoch from max(started_at) - min(started_at))::float8 from started) as seconds,
  (select percentile_disc(0.99) within group (order by ms) from overtaken) as p99, (select max(ms) from overtaken) as max`

/** `count` tasks of one queue due within one second; while they drain, fresh ones of another queue are started. */
export async function benchBurst(options: Options, count: number): Promise<void> {
  const stack = await startStack(options, null)
  const client = new pg.Client({ connectionString: stack.databaseUrl })
  await client.connect()
  const worker = Remote.start<WorkerCalls>('worker', [])
  try {
    await stack.startWorker()
    await stack.producer.call('single', { count: options.tasks.warmUp, inFlight: options.inFlight })
    await worker.call('start', { urls: stack.servers.map(({ url }) => url), queue: burstQueue, slots: options.slots })
    const afterMs = 8_000 + (count / fillRate) * 1_000
    await fillScheduled(client, { count, queue: burstQueue, afterMs, spreadMs: 1_000, payload: '{"sent":"0"}' })
    const since = await stack.database.now()
    let isOver = false
    const drained = worker.call('reached', { count }).then(() => {
      isOver = true
    })
    while (!isOver) await stack.producer.call('openLoop', { rate: freshRate, seconds: Math.min(options.seconds, 5) })
    await drained
    await stack.database.untilAllFinished()
    const fresh = await stack.database.startDelays(since)
    const { rows } = await client.query<{ count: number; seconds: number; p99: number; max: number }>(order, [
      burstQueue,
    ])
    const [drain] = rows
    if (drain === undefined) throw new Error('PostgreSQL answered no row')
    const { nowMb, mostMb } = memoryOf(stack.servers[0].pid)
    console.log(
      [
        `${drain.count} tasks due in one second were started within ${drain.seconds.toFixed(1)} s`,
        `overtaken by p99 ${drain.p99.toFixed(1)}  max ${drain.max.toFixed(1)} ms of due time`,
        `fresh starts of another queue, ${fresh.count}: p50 ${fresh.p50.toFixed(1)}  p99 ${fresh.p99.toFixed(1)}  max ${fresh.max.toFixed(1)} ms`,
        `server ${nowMb.toFixed(0)} MB, at most ${mostMb.toFixed(0)} MB`,
      ].join('\n'),
    )
  } finally {
    await worker.end()
    await client.end()
    await stack.stop()
  }
}
