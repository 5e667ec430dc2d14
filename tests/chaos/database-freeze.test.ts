import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { migrate } from '../../packages/server/src/store/migrations.js'
import { startOwnPostgres } from '../support/own-postgres.js'
import { isSubmission } from './checker/client-log.js'
import { describeFindings } from './checker/finding.js'
import { Load } from './load/load.js'
import { isLong, Scenario, testLimitMs } from './scenario.js'

const QUICK = { DULY_CHAOS_HEARTBEAT_MS: '1000' }
/** Three leases: whoever judged by the wall clock would bury every session. */
const frozenMs = isLong ? 60_000 : 9_000
/** It takes seconds; the rest is for a machine that has other things to do. */
const RESUMED_WITHIN_MS = 60_000

// Worse than a refusal: connections stay open and nothing answers, as with a hung disk or a network that swallows packets.
test('a database that hangs for longer than a lease costs nobody a task', { timeout: testLimitMs }, async () => {
  const postgres = await startOwnPostgres()
  await migrate(postgres.url)
  const scenario = await Scenario.start({ databaseUrl: postgres.url })
  const workers = [scenario.addWorker(QUICK), scenario.addWorker(QUICK)]
  const load = new Load({
    open: scenario.open,
    url: () => scenario.url,
    perSecond: 80,
    mix: { succeed: 40, work: 50, flaky: 10 },
  }).start()
  while (load.accepted < 100) await delay(20)

  postgres.freeze()
  const frozenAt = Date.now()
  await delay(frozenMs)
  const thawedAt = Date.now()
  const acceptedBefore = load.accepted
  postgres.thaw()
  while (load.accepted < acceptedBefore + 20 && Date.now() < thawedAt + RESUMED_WITHIN_MS) await delay(20)
  expect(load.accepted).toBeGreaterThanOrEqual(acceptedBefore + 20)
  await delay(2_000)
  await load.stop()

  // an answer to what was sent before it hung may be slow; what was sent while it hung is taken by nobody
  const meanwhile = load.client.log.filter(({ startedAt, endedAt }) => startedAt < thawedAt && endedAt > frozenAt)
  expect(meanwhile.filter(isSubmission).length).toBeGreaterThan(0)
  const early = meanwhile.filter(({ startedAt, endedAt }) => startedAt > frozenAt && endedAt < thawedAt)
  expect(early.filter(({ outcome }) => outcome === 'ok')).toEqual([])
  expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
  expect([scenario.server, ...workers].map(({ isRunning }) => isRunning)).toEqual([true, true, true])
  expect(await scenario.query('select id, crashes from outcomes where crashes > 0')).toEqual([])
})
