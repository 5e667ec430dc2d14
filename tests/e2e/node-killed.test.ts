import pg from 'pg'
import { expect, test } from 'vitest'
import { Api, until, type WireGrant } from '../../packages/server/src/dispatch/testing/http-node.js'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startServer } from '../support/processes.js'

const TASKS = 60

/** A worker without an SDK: it starts each lease once and repeats what was not answered, at whichever node answers. */
async function runAll(nodes: { readonly apis: readonly Api[]; kill(): Promise<void> }): Promise<Map<string, string>> {
  const [first, second] = nodes.apis as [Api, Api]
  const worker = await first.worker({ slots: 5, heartbeatSeconds: 5 })
  const started = new Map<string, string>()
  const unheard = new Map<string, WireGrant>()
  let isKilled = false
  const take = (grants: readonly WireGrant[]): void => {
    for (const grant of grants) {
      if (started.get(grant.task_id) === grant.lease) continue
      expect(started.has(grant.task_id), 'a task was given out under a second lease').toBe(false)
      started.set(grant.task_id, grant.lease)
      unheard.set(grant.lease, grant)
    }
  }
  await until(
    'all tasks were run',
    async () => {
      const reports = [...unheard.values()].map(({ task_id, lease }) => ({
        ...{ task_id, lease, outcome: 'succeeded', result: null },
      }))
      const asking = worker.exchange(reports, 5, { wait: 0.5 }).catch((error: unknown) => {
        if (error instanceof TypeError || error instanceof SyntaxError) return null
        throw error
      })
      if (!isKilled && started.size >= TASKS / 3) {
        isKilled = true
        // the node dies with this very call under way
        await nodes.kill()
        worker.moveTo(second)
      }
      const answer = await asking
      if (answer === null) return false
      expect(answer.results.filter(({ accepted }) => !accepted)).toEqual([])
      for (const { lease } of reports) unheard.delete(lease)
      take(answer.tasks)
      return started.size === TASKS && unheard.size === 0
    },
    100_000,
  )
  expect(isKilled).toBe(true)
  expect((await worker.beat()).lost).toEqual([])
  return started
}

test('a node that is killed costs its worker nothing: the session goes on at the other node, each task runs once', {
  timeout: 300_000,
}, async () => {
  const { url: databaseUrl } = await createDatabase()
  const killed = await startServer({ databaseUrl, name: 'killed' })
  const other = await startServer({ databaseUrl, name: 'other' })
  const apis = [new Api(killed.url), new Api(other.url)]
  const submitted = await (apis[1] as Api).submitBatch(Array.from({ length: TASKS }, () => ({})))
  const started = await runAll({ apis, kill: async () => void (await killed.process.kill('SIGKILL')) })
  expect([...started.keys()].sort()).toEqual(submitted.map(({ task_id }) => task_id).sort())

  const client = new pg.Client({ connectionString: databaseUrl })
  cleanUpLater(() => client.end())
  await client.connect()
  const { rows } = await client.query(
    'select status, attempt, crashes, undelivered, count(*)::integer as n from outcomes group by 1, 2, 3, 4',
  )
  expect(rows).toEqual([{ status: 'SUCCEEDED', attempt: 1, crashes: 0, undelivered: 0, n: TASKS }])
  expect((await client.query('select from open_tasks')).rows).toEqual([])
})

test('timers fire when the scheduler that knows of them stops and another takes over', {
  timeout: 300_000,
}, async () => {
  const { url: databaseUrl } = await createDatabase()
  const start = (name: string, roles: string) => startServer({ databaseUrl, name, env: { DULY_ROLES: roles } })
  const leaving = await start('leaving', 'scheduler')
  const staying = await start('staying', 'scheduler')
  const api = new Api((await start('api', 'api')).url)
  const worker = await api.worker({ slots: 50 })
  const delays = Array.from({ length: 40 }, (_, n) => ({ delay_seconds: 1 + n * 0.1 }))
  await api.submitBatch(delays)
  const fired = new Set<string>()
  const client = new pg.Client({ connectionString: databaseUrl })
  cleanUpLater(() => client.end())
  await client.connect()
  const leaders = async () =>
    (await client.query<{ leader: string }>('select distinct leader from partitions where leader is not null')).rows
  await until('both lead', async () => (await leaders()).length === 2, 60_000)
  const stop = async () => ({ exit: await leaving.process.kill('SIGTERM'), leaders: (await leaders()).length })
  let stopping: ReturnType<typeof stop> | null = null
  await until(
    'all timers fired',
    async () => {
      for (const { task_id } of await worker.poll(50, { wait: 0.5 })) fired.add(task_id)
      if (fired.size >= 5) stopping ??= stop()
      return fired.size === delays.length
    },
    100_000,
  )
  // it takes no lease that must run out first: when it has gone, nothing is led in its name
  expect(await stopping).toEqual({ exit: { code: 0, signal: null }, leaders: 1 })
  expect(staying.process.isRunning).toBe(true)
  const { rows } = await client.query<{ lateMs: number }>(
    `select date_part('epoch', o.started_at - t.scheduled_at) * 1000 as "lateMs"
     from open_tasks o join tasks t on t.id = o.id order by 1`,
  )
  const late = rows.map(({ lateMs }) => lateMs)
  const [first, median, worst] = [0, 0.5, 1].map((share) => late[Math.round(share * (late.length - 1))] ?? Number.NaN)
  console.info(
    `timers, their scheduler having stopped: ${median?.toFixed(0)} ms late, the worst ${worst?.toFixed(0)} ms`,
  )
  expect(first).toBeGreaterThanOrEqual(0)
  // nor does the median wait for the slow look of somebody else, 5 s; the rest is for a machine that has other things to do
  expect(median).toBeLessThan(5_000)
  expect(worst).toBeLessThan(20_000)
})
