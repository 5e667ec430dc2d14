import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import type { PlannedPayload } from './load/plans.js'
import { type Random, randomOf } from './load/random.js'
import { callCron } from './load/recurring.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const SERVERS = [0, 1, 2]
/** How long may pass until whatever was due is judged once all nodes live: a frozen one's locks and what they missed included. */
const HEALING_MS = 180_000

/** Work that is done before the next fire time, and work that is not. */
const quick = { task_type: 'chaos.succeed', plan: 'succeed' } as const
const long = { task_type: 'chaos.work', plan: 'work', work_ms: 1_500 } as const
/** A second of grace: whatever all nodes missed is a matter of the policy. */
const strict = { misfire_grace_seconds: 1 }
const DEFINITIONS = {
  'every.all': { every_seconds: 1, overlap_policy: 'queue', misfire_policy: 'fire_all', ...quick },
  'cron.all': {
    cron_expression: '* * * * * *',
    overlap_policy: 'queue',
    misfire_policy: 'fire_all',
    ...quick,
  },
  'every.latest': { every_seconds: 1, overlap_policy: 'queue', misfire_policy: 'fire_once', ...strict, ...quick },
  'cron.on-time': {
    cron_expression: '* * * * * *',
    overlap_policy: 'queue',
    misfire_policy: 'skip',
    ...strict,
    ...quick,
  },
  'cron.one-at-a-time': { cron_expression: '* * * * * *', overlap_policy: 'skip', ...long },
  'every.newest': { every_seconds: 1, overlap_policy: 'cancel_running', misfire_policy: 'fire_all', ...long },
} as const

/** As a deployment does: it says what there is to be, and changes nothing when that is so. */
async function define(url: string): Promise<string[]> {
  const defined = Object.entries(DEFINITIONS).map(async ([name, { plan, ...definition }]) => {
    const { work_ms, ...rest } = { work_ms: undefined, ...definition }
    const payload: PlannedPayload = { mark: name, plan, ...(work_ms === undefined ? {} : { work_ms }) }
    const put = await callCron(url, 'PUT', `/by-name/${encodeURIComponent(name)}`, { ...rest, queue: 'chaos', payload })
    return put.cron_id ?? ''
  })
  return Promise.all(defined)
}

/** Killed, told to stop, or frozen: for less than a node's lease, or past it. */
async function hit(scenario: Scenario, index: number, random: Random): Promise<string> {
  const what = random.weighted({ SIGKILL: 4, SIGSTOP: 4, SIGTERM: 2 })
  if (what === 'SIGSTOP') {
    scenario.serverAt(index).signal('SIGSTOP')
    await delay(random.between(500, 9_000))
    scenario.serverAt(index).signal('SIGCONT')
    return what
  }
  await scenario.serverAt(index).kill(what)
  await delay(random.between(0, 2_000))
  await scenario.restartServer(index)
  // a frozen node may hold the rows that this one would compare: the next deployment says it again
  await define(scenario.urlOf(index)).catch(() => {})
  return what
}

/** Hits one node again and again, whatever the others suffer: at times none of them fires. */
async function torment(scenario: Scenario, index: number, until: number): Promise<string[]> {
  const random = randomOf(`cron node ${index}`)
  const hits: string[] = []
  while (performance.now() < until) {
    await delay(random.between(300, 3_000))
    hits.push(await hit(scenario, index, random))
  }
  return hits
}

async function summary(scenario: Scenario): Promise<string> {
  const rows = await scenario.query<{ told: string }>(
    `select concat(c.name, ': ', string_agg(concat(f.count, ' ', f.outcome), ', ' order by f.outcome)) as told
     from (select cron_id, outcome, count(*) from cron_firings group by 1, 2) f join cron_tasks c on c.id = f.cron_id
     group by c.name order by c.name`,
  )
  return rows.map(({ told }) => told).join('\n')
}

test('nodes that are killed, frozen and restarted at random fire each second of each definition once, and leave none out', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start({ servers: SERVERS.length })
  const workers = [0, 1].map((server) => scenario.addWorker({}, scenario.urlOf(server)))
  const ids = await define(scenario.url)
  const until = performance.now() + faultMs
  const hits = await Promise.all(SERVERS.map((index) => torment(scenario, index, until)))

  const [{ healed } = { healed: '' }] = await scenario.query<{ healed: string }>('select now()::text as healed')
  await scenario.untilRow(`select from cron_tasks having min(next_fire_at) > '${healed}'`, HEALING_MS)
  for (const id of ids) await callCron(scenario.url, 'POST', `/${id}/pause`, {})
  const findings = await scenario.finish([])
  console.info(`${hits.map((each) => each.join(' ')).join(' | ')}\n${await summary(scenario)}`)
  expect(describeFindings(findings)).toBe('')
  for (const worker of workers) worker.signal('SIGTERM')
  await Promise.all(workers.map(({ exited }) => exited))
})
