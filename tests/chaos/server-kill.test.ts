import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import { Load } from './load/load.js'
import { randomOf } from './load/random.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const LEAST_KILLS = 4
const LEAST_ACCEPTED = 100
/** What each second life takes at least: on a slow machine a server that lives for a second gets nowhere. */
const LEAST_OF_LIFE = 25

/** Kills the server at random instants and restarts it, for the time of the fault; on a slow machine longer. */
async function storm(scenario: Scenario, load: Load): Promise<void> {
  const random = randomOf('server storm')
  const until = performance.now() + faultMs
  let kills = 0
  while (performance.now() < until || kills < LEAST_KILLS || load.accepted < LEAST_ACCEPTED) {
    const before = load.accepted
    await delay(random.between(200, 2_500))
    while (kills % 2 === 1 && load.accepted < before + LEAST_OF_LIFE) await delay(20)
    expect(await scenario.server.kill('SIGKILL')).toMatchObject({ signal: 'SIGKILL' })
    kills += 1
    await delay(random.between(0, 800))
    await scenario.restartServer()
  }
}

// I1, and the row "an api node" of the failure table.
test('a server that is killed again and again loses nothing that it accepted', { timeout: testLimitMs }, async () => {
  const scenario = await Scenario.start()
  scenario.addWorker()
  scenario.addWorker()
  const load = new Load({ open: scenario.open, url: () => scenario.url, perSecond: 120 }).start()
  await storm(scenario, load)
  await load.stop()

  expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
  // The workers lived all the time, and a server that is away for a second kills none of their sessions.
  expect(await scenario.query(`select id, crashes from outcomes where crashes > 0`)).toEqual([])
})
