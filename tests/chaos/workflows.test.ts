import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { migrate } from '../../packages/server/src/store/migrations.js'
import { startHttpProxy } from '../support/http-proxy.js'
import { type OwnPostgres, startOwnPostgres } from '../support/own-postgres.js'
import { describeFindings } from './checker/finding.js'
import { freezeServer, KeptWorkers, killServer } from './faults.js'
import { Load } from './load/load.js'
import { type Random, randomOf } from './load/random.js'
import { WorkflowLoad } from './load/workflow-load.js'
import { faultMs, Scenario, type ScenarioOptions, testLimitMs } from './scenario.js'

const WORKERS = 3
const LEAST_ACCEPTED = 30
/** Of the answers to what clients change. */
const CUT_SHARE = 0.1
/** Deep graphs drain slowly after losses: each level can wait for a lease to end. */
const DRAIN_LIMIT_MS = 120_000

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
  const graphs = new WorkflowLoad({ url, perSecond: 12 }).start()
  const singles = new Load({ url, perSecond: 12, clients: 2 }).start()

  const until = performance.now() + faultMs
  while (performance.now() < until || graphs.accepted < LEAST_ACCEPTED) {
    await delay(random.between(200, 1_500))
    await draw(random, workers)(scenario, random.pick(servers), random)
  }
  await Promise.all([graphs.stop(), singles.stop()])
  await scenario.untilDrained(DRAIN_LIMIT_MS)
  const findings = await scenario.finish([...singles.client.log, ...graphs.tasks.log], graphs.client.log)
  await workers.stop()
  console.info(await summary(scenario))
  return describeFindings(findings)
}

async function summary(scenario: Scenario): Promise<string> {
  const rows = await scenario.query<{ told: string }>(
    `select concat(w.status, ' ', w.failure_policy, ': ', count(*), ' of ', sum(w.nodes), ' nodes, ', sum(w.run) - count(*), ' retries') as told
     from workflows w group by w.status, w.failure_policy order by 1`,
  )
  return rows.map(({ told }) => told).join('\n')
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
