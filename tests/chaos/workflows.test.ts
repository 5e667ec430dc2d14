import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { migrate } from '../../packages/server/src/store/migrations.js'
import { startHttpProxy } from '../support/http-proxy.js'
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.js'
import { describeFindings } from './checker/finding.js'
import { freezeServer, KeptWorkers, killServer } from './faults.js'
import { drawLaunched } from './load/graphs.js'
import { Load } from './load/load.js'
import { QueuePauses } from './load/pauses.js'
import type { LaunchedGraph, PlannedPayload } from './load/plans.js'
import { type Random, randomOf } from './load/random.js'
import { callCron } from './load/recurring.js'
import { SIDE_QUEUE, submissionOf } from './load/submissions.js'
import { WorkflowLoad } from './load/workflow-load.js'
import { faultMs, Scenario, type ScenarioOptions, testLimitMs } from './scenario.js'

const WORKERS = 3
const LEAST_ACCEPTED = 30
/** Of the answers to what clients change. */
const CUT_SHARE = 0.1

/** A fault to let come once, at some server. */
type Fault = (scenario: Scenario, server: number, random: Random) => Promise<unknown>

/** Graphs and single tasks at all servers and workers that know all servers, while one fault comes after the other. */
async function underFaults(
  options: ScenarioOptions & { readonly servers: number },
  draw: (random: Random, workers: KeptWorkers) => Fault,
): Promise<string> {
  const scenario = await Scenario.start(options)
  const servers = Array.from({ length: options.servers }, (_, index) => index)
  const random = randomOf('workflow faults')
  const proxies = await Promise.all(servers.map((index) => startHttpProxy(() => scenario.urlOf(index))))
  for (const proxy of proxies) proxy.cutWhen(({ method }) => method === 'POST' && random.next() < CUT_SHARE)
  const all = () => servers.map((index) => scenario.urlOf(index)).join(',')
  const workers = new KeptWorkers(scenario, Array(WORKERS).fill(all))
  const url = () => random.pick(proxies).url
  const graphs = new WorkflowLoad({ open: scenario.open, url, perSecond: 12 }).start()
  const singles = new Load({ open: scenario.open, url, perSecond: 12, clients: 2 }).start()

  const pauses = new QueuePauses(url, SIDE_QUEUE).start()
  const launched = drawLaunched(randomOf('launched'))
  const cron = await launchAgainAndAgain(scenario.url, launched)

  const until = performance.now() + faultMs
  while (performance.now() < until || graphs.accepted < LEAST_ACCEPTED) {
    await delay(random.between(200, 1_500))
    await draw(random, workers)(scenario, random.pick(servers), random)
  }
  await Promise.all([graphs.stop(), singles.stop(), pauses.stop()])
  await callCron(scenario.url, 'POST', `/${cron}/pause`, {})
  const calls = [...singles.client.log, ...graphs.tasks.log, ...pauses.client.log]
  const findings = await scenario.finish(calls, { workflowLog: graphs.client.log, launched })
  await workers.stop()
  console.info(`${await summary(scenario)}\n${toldOf([...calls, ...graphs.client.log])}`)
  return describeFindings(findings)
}

/** A recurring task whose handler submits a workflow, every other second. */
async function launchAgainAndAgain(url: string, graph: LaunchedGraph): Promise<string> {
  const payload = { mark: 'launch', plan: 'launch', graph } satisfies PlannedPayload
  const put = await callCron(url, 'PUT', '/by-name/launcher', {
    ...{ every_seconds: 2, overlap_policy: 'queue', misfire_policy: 'fire_once' },
    ...submissionOf('launch', 'launch', payload),
  })
  return put.cron_id ?? ''
}

async function summary(scenario: Scenario): Promise<string> {
  const rows = await scenario.query<{ told: string }>(
    `select concat(w.name, ' ', w.status, ' ', w.failure_policy, ': ', count(*), ' of ', sum(w.nodes), ' nodes, ', sum(w.run) - count(*), ' retries') as told
     from workflows w group by w.name, w.status, w.failure_policy order by 1`,
  )
  const ends = await scenario.query<{ told: string }>(
    `select concat(u.status, ' ', u.reason, ': ', count(*)) as told from outcomes u join tasks t on t.id = u.id
     where t.workflow_id is not null group by u.status, u.reason order by 1`,
  )
  return [...rows, ...ends].map(({ told }) => told).join('\n')
}

/** How often which call was answered how: a draw that never meets anything would test nothing. */
function toldOf(
  calls: readonly { readonly verb: string; readonly status: number | null; readonly action?: string }[],
): string {
  const counts = new Map<string, number>()
  for (const { verb, action = '', status } of calls) {
    const told = [verb, action, status ?? 'nothing'].filter((each) => each !== '').join(' ')
    counts.set(told, (counts.get(told) ?? 0) + 1)
  }
  return [...counts]
    .sort()
    .map(([told, count]) => `${told}: ${count}`)
    .join(', ')
}

const restart = (postgres: OwnPostgres): Fault => {
  return async (_, __, random) => {
    await postgres.stop(random.pick(['fast', 'immediate']))
    await delay(random.between(200, 5_000))
    await postgres.start()
  }
}

// I7 under faults: random graphs of all trigger rules and policies, whose nodes fail, crash, hang and add others, cancelled and retried.
test('graphs run as they say while nodes and workers are killed and frozen and answers are lost', {
  timeout: testLimitMs,
}, async () => {
  const findings = await underFaults({ servers: 3 }, (random, workers) => {
    const what = random.weighted({ kill: 3, freeze: 3, worker: 4 })
    if (what === 'worker') return () => workers.hit(random)
    return what === 'kill' ? killServer : freezeServer
  })
  expect(findings).toBe('')
})

test('graphs run as they say while the database stops and comes back', { timeout: testLimitMs }, async () => {
  const postgres = await startOwnPostgres()
  await migrate(postgres.url)
  const findings = await underFaults({ servers: 2, databaseUrl: postgres.url }, (random, workers) => {
    const what = random.weighted({ database: 5, kill: 1, freeze: 1, worker: 2 })
    if (what === 'worker') return () => workers.hit(random)
    if (what === 'database') return restart(postgres)
    return what === 'kill' ? killServer : freezeServer
  })
  expect(findings).toBe('')
})
