import { postJson } from './api-call.js'
import { cpuOf, cpuOfTree } from './cpu.js'
import type { Options } from './options.js'
import { queue, taskType } from './payload.js'
import type { Stack } from './stack.js'
import { withStack } from './with-stack.js'

/** What PostgreSQL makes of such definitions a second, at least. */
const fillRate = 10_000

/** Copies of one definition, each with an id and a name of its own, all due at its next time. */
const copies = `
insert into cron_tasks (id, tenant, name, expression, every_ms, anchor_at, timezone, overlap, misfire, grace_ms, jitter_ms,
  enabled, next_fire_at, wake_at, task_type, queue, task, payload, metadata, created_at, updated_at)
select (lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 64), 3, '0')
    || '8' || substr(md5(random()::text || n), 1, 15))::uuid,
  tenant, name || '-' || n, expression, every_ms, anchor_at, timezone, overlap, misfire, grace_ms, jitter_ms,
  enabled, next_fire_at, wake_at, task_type, queue, task, payload, metadata, created_at, updated_at
from cron_tasks, generate_series(2, $1::integer) n`

const fired = `
select count(*)::integer as count, count(distinct cron_id)::integer as definitions,
  extract(epoch from max(fired_at) - min(fired_at))::float8 as seconds,
  (extract(epoch from max(fired_at - fire_time)) * 1000)::float8 as "latestMs",
  (extract(epoch from percentile_disc(0.5) within group (order by fired_at - fire_time)) * 1000)::float8 as "middleMs"
from cron_firings`

interface FiredRow {
  readonly count: number
  readonly definitions: number
  readonly seconds: number
  readonly latestMs: number
  readonly middleMs: number
}

/** `count` definitions due in the same second, while a worker runs what they make: how fast one node fires them. */
export async function benchCronBurst(options: Options, count: number): Promise<void> {
  await withStack(options, async (stack, client) => {
    await stack.startWorker()
    await define(stack, count)
    await client.query(copies, [count])
    const [server] = stack.servers
    const before = { postgres: cpuOfTree(stack.postgresPid), server: cpuOf(server.pid) }
    await stack.worker.call('reached', { count })
    await stack.database.untilAllFinished()
    const { rows } = await client.query<FiredRow>(fired)
    const [row] = rows
    if (row === undefined || row.count !== count || row.definitions !== count) {
      throw new Error(`${count} definitions made ${row?.count} firings of ${row?.definitions} definitions`)
    }
    const cpu = (now: number, then: number) => `${((now - then) / count).toFixed(0)} µs`
    console.log(
      [
        `${count} definitions due in one second: ${(count / row.seconds).toFixed(0)} firings/s, each once`,
        `late by p50 ${row.middleMs.toFixed(0)}  max ${row.latestMs.toFixed(0)} ms`,
        `CPU a firing with the whole life of its task: PostgreSQL ${cpu(cpuOfTree(stack.postgresPid), before.postgres)}, server ${cpu(cpuOf(server.pid), before.server)}`,
      ].join('\n'),
    )
  })
}

/** The first one, by the API; the others are its copies. */
async function define({ servers: [{ url }] }: Stack, count: number): Promise<void> {
  const at = new Date(Date.now() + 5_000 + (count / fillRate) * 1_000)
  await postJson(`${url}/api/v1/cron-tasks`, {
    ...{ name: 'burst', task_type: taskType, queue, payload: { sent: '0' }, timezone: 'UTC' },
    cron_expression: `${at.getUTCSeconds()} ${at.getUTCMinutes()} ${at.getUTCHours()} * * *`,
  })
}
