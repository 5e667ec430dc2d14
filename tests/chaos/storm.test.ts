import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { TestProcess } from '../support/test-process.js'
import { describeFindings } from './checker/finding.js'
import { Load } from './load/load.js'
import { type Random, randomOf } from './load/random.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const SERVERS = 2
/** A lease of 3 s: losses come and go within the test. */
const QUICK = { DULY_CHAOS_HEARTBEAT_MS: '1000' }
/** Some pauses are shorter than a lease, some longer. */
const PAUSE_MS = [300, 6_000] as const

/** Worker `index`, which is started again whenever it ends, until told to stop. It works for one of the servers. */
async function keepWorker(
  scenario: Scenario,
  index: number,
  victims: Map<string, TestProcess>,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    const worker = scenario.addWorker(QUICK, scenario.urlOf(index % SERVERS))
    victims.set(`worker ${index}`, worker)
    await worker.exited
  }
}

async function hitWorker(worker: TestProcess, random: Random): Promise<void> {
  if (random.next() < 0.4) {
    worker.signal('SIGKILL')
    return
  }
  worker.signal('SIGSTOP')
  await delay(random.between(...PAUSE_MS))
  worker.signal('SIGCONT')
}

async function hitServer(scenario: Scenario, index: number, random: Random): Promise<void> {
  await scenario.serverAt(index).kill('SIGKILL')
  await delay(random.between(0, 2_000))
  await scenario.restartServer(index)
}

// The kill -9 storm with frozen workers: whatever dies or stops, at any instant, together with whatever else.
test('servers and workers that are killed and frozen at random lose nothing and double nothing', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start({ servers: SERVERS })
  const random = randomOf('storm')
  const workers = new Map<string, TestProcess>()
  let isOver = false
  const keepers = [0, 1, 2].map((index) => keepWorker(scenario, index, workers, () => isOver))
  const load = new Load({ url: () => scenario.urlOf(random.integer(0, SERVERS - 1)), perSecond: 100 }).start()

  const until = performance.now() + faultMs
  while (performance.now() < until || load.accepted < 100) {
    await delay(random.between(300, 2_000))
    if (random.next() < 0.4) await hitServer(scenario, random.integer(0, SERVERS - 1), random)
    else await hitWorker(random.pick([...workers.values()]), random)
  }
  await load.stop()

  expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
  isOver = true
  for (const worker of workers.values()) worker.signal('SIGTERM')
  await Promise.all(keepers)
})
