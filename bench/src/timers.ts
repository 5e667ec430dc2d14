import { setTimeout as delay } from 'node:timers/promises'
import { type Cost, measure } from './measure.js'
import type { Options } from './options.js'
import { queue } from './payload.js'
import type { Stack } from './stack.js'
import type { Percentiles } from './stats.js'
import { fillScheduled } from './timer-fill.js'
import { withStack } from './with-stack.js'

/** Tasks whose lateness is measured, over so many ms. */
const measured = { count: 5_000, spreadMs: 10_000 }
const dayMs = 86_400_000
/** The payload that handlers of the benchmark read; the instant is not looked at. */
const payload = '{"sent":"0"}'

const lateness = `
with late as (
  select extract(epoch from u.started_at - t.scheduled_at)::float8 * 1000 as ms
  from tasks t join outcomes u using (id) where t.queue = $1 and t.scheduled_at is not null
)
select count(*)::integer as count, max(ms) as max, percentile_disc(0.5) within group (order by ms) as p50,
  percentile_disc(0.9) within group (order by ms) as p90, percentile_disc(0.99) within group (order by ms) as p99
from late`

/**
 * What `waiting` tasks of the far future cost: how late others start that are due meanwhile, and what the whole life of a task
 * takes of the CPU, beside the same while nothing waits.
 */
export async function benchTimers(options: Options, waiting: number): Promise<void> {
  await withStack(options, async (stack, client) => {
    const { single, warmUp } = options.tasks
    const life = new Lives(stack, options.inFlight)
    await stack.startWorker()
    await life.run(warmUp)
    const empty = await life.run(single)
    const far = { count: waiting, queue: 'far', afterMs: 30 * dayMs, spreadMs: 30 * dayMs, payload }
    await fillScheduled(client, far)
    await client.query('checkpoint')
    const few = options.out === null ? Math.min(measured.count, single) : measured.count
    const due = { ...measured, count: few, queue, afterMs: 6_000, payload }
    await fillScheduled(client, due)
    await life.reach(few)
    const { rows } = await client.query<Percentiles>(lateness, [queue])
    const full = await life.run(single)
    print(waiting, rows[0] as Percentiles, [empty, full])
  })
}

/** Whole lives, counted by the worker: what waits for its time is open all along. */
class Lives {
  readonly #stack: Stack
  readonly #inFlight: number
  #started = 0

  constructor(stack: Stack, inFlight: number) {
    this.#stack = stack
    this.#inFlight = inFlight
  }

  run(count: number): Promise<Cost> {
    return measure(this.#stack, count, async () => {
      await this.#stack.producer.call('single', { count, inFlight: this.#inFlight })
      await this.reach(count)
    })
  }

  /** Until so many more were started, and their reports have come. */
  async reach(count: number): Promise<void> {
    this.#started += count
    await this.#stack.worker.call('reached', { count: this.#started })
    await delay(300)
  }
}

function print(waiting: number, late: Percentiles, [empty, full]: readonly [Cost, Cost]): void {
  const { p50, p99, max, count } = late
  const cpu = ({ cpu: { postgres, server } }: Cost) => postgres + server
  console.log(
    [
      `${waiting} tasks wait for the far future`,
      `due to start, of ${count}: p50 ${p50.toFixed(1)}  p99 ${p99.toFixed(1)}  max ${max.toFixed(1)} ms`,
      `CPU of PostgreSQL and server: ${cpu(empty).toFixed(0)} µs/task while nothing waits, ${cpu(full).toFixed(0)} then: ${(cpu(full) / cpu(empty)).toFixed(2)} times`,
      `server ${full.serverMb.nowMb.toFixed(0)} MB, at most ${full.serverMb.mostMb.toFixed(0)} MB; others took ${(full.others * 100).toFixed(0)} % of the machine`,
    ].join('\n'),
  )
}
