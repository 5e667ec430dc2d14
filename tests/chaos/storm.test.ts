import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import { KeptWorkers, killServer } from './faults.js'
import { Load } from './load/load.js'
import { randomOf } from './load/random.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const SERVERS = 2

// The kill -9 storm with frozen workers: whatever dies or stops, at any instant, together with whatever else.
test('servers and workers that are killed and frozen at random lose nothing and double nothing', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start({ servers: SERVERS })
  const random = randomOf('storm')
  // each works for one of the servers
  const urls = [0, 1, 2].map((index) => () => scenario.urlOf(index % SERVERS))
  const workers = new KeptWorkers(scenario, urls)
  const load = new Load({
    open: scenario.open,
    url: () => scenario.urlOf(random.integer(0, SERVERS - 1)),
    perSecond: 100,
  }).start()

  const until = performance.now() + faultMs
  while (performance.now() < until || load.accepted < 100) {
    await delay(random.between(300, 2_000))
    if (random.next() < 0.4) await killServer(scenario, random.integer(0, SERVERS - 1), random)
    else await workers.hit(random)
  }
  await load.stop()

  expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
  await workers.stop()
})
