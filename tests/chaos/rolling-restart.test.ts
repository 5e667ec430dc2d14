import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startBalancer } from '../support/balancer.js'
import { describeFindings } from './checker/finding.js'
import { Load } from './load/load.js'
import { type Random, randomOf } from './load/random.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const SERVERS = 2
const MIX = { succeed: 45, work: 25, flaky: 12, snooze: 6, permanent: 6, doomed: 6 } as const
/** Some looks of the balancer. */
const ENV = { DULY_DRAIN_DELAY_SECONDS: '0.7' }
const LEAST_ROUNDS = 4

/** Each node in turn, mostly told to stop, sometimes killed. */
async function rollOn(scenario: Scenario, random: Random, isReady: () => Promise<void>): Promise<number> {
  const until = performance.now() + faultMs
  let kills = 0
  for (let round = 0; performance.now() < until || round < LEAST_ROUNDS; round += 1) {
    await delay(random.between(100, 1_500))
    const index = round % SERVERS
    const isKill = round % LEAST_ROUNDS === 2 || random.next() < 0.15
    const server = scenario.serverAt(index)
    const exit = await server.kill(isKill ? 'SIGKILL' : 'SIGTERM')
    if (!isKill) expect(exit, server.describe('did not stop cleanly')).toEqual({ code: 0, signal: null })
    kills += isKill ? 1 : 0
    await scenario.restartServer(index)
    await isReady()
  }
  return kills
}

// Two nodes behind a balancer; each worker's calls go to both by turns, so that its session lives on both.
test('two nodes that are restarted in turn, or killed, lose nothing, double nothing and burn no attempt', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start({ servers: SERVERS, serverEnv: ENV })
  const urls = [scenario.urlOf(0), scenario.urlOf(1)]
  const balancer = await startBalancer(urls)
  await balancer.untilReady(SERVERS)
  const workers = [scenario.addWorker({}, balancer.url), scenario.addWorker({}, balancer.url)]
  // and one that knows the nodes itself
  workers.push(scenario.addWorker({}, urls.join(',')))
  for (const worker of workers) await worker.line(/registered as/)
  const load = new Load({ open: scenario.open, url: () => balancer.url, perSecond: 80, mix: MIX }).start()
  const kills = await rollOn(scenario, randomOf('rolling restart'), () => balancer.untilReady(SERVERS))
  await load.stop()

  expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
  // only a kill may cut a request off
  if (kills === 0) expect(balancer.failures).toEqual([])
  expect(await scenario.query('select id, crashes from outcomes where crashes > 0')).toEqual([])
  expect(await scenario.query(`select task_id from failed_attempts where error_class = 'WorkerLost'`)).toEqual([])
  const timedOut = await scenario.query(`select task_id from failed_attempts where outcome = 'timed_out'`)
  expect(timedOut).toEqual([])
  // each worker has had one session all the time
  for (const worker of workers) expect(worker.output.filter((line) => line.includes('registered as'))).toHaveLength(1)
})
