import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { migrate } from '../../packages/server/src/store/migrations.js'
import { startOwnPostgres } from '../support/own-postgres.js'
import { isSubmission } from './checker/client-log.js'
import { describeFindings } from './checker/finding.js'
import { Load } from './load/load.js'
import { isLong, Scenario, testLimitMs } from './scenario.js'

/** A lease of 3 s: the outage is longer, so that it would kill every session if its time counted. */
const QUICK = { DULY_CHAOS_HEARTBEAT_MS: '1000' }
const downMs = isLong ? 30_000 : 8_000
/** The load goes on within seconds; the rest is for a machine that has other things to do. */
const RESUMED_WITHIN_MS = 60_000
/** A call that began just before the stop may be cut off by it; one that began just after it meets connections that are closing. */
const EDGE_MS = 1_000
/** Submissions before the stop, most of their tasks at work or waiting for it. */
const LEAST_ACCEPTED = 150

test.each(['fast', 'immediate'] as const)(
  'a database that is stopped (%s) is waited for',
  { timeout: testLimitMs },
  async (mode) => {
    const postgres = await startOwnPostgres()
    await migrate(postgres.url)
    const scenario = await Scenario.start({ databaseUrl: postgres.url })
    const workers = [scenario.addWorker(QUICK), scenario.addWorker(QUICK)]
    // Much work that is under way when the database goes, and ends while it is away.
    const load = new Load({
      open: scenario.open,
      url: () => scenario.url,
      perSecond: 100,
      mix: { succeed: 40, work: 40, flaky: 15, permanent: 5 },
    }).start()
    while (load.accepted < LEAST_ACCEPTED) await delay(20)

    await postgres.stop(mode)
    const downAt = Date.now()
    await delay(downMs)
    const upAt = Date.now()
    await postgres.start()
    const acceptedBefore = load.accepted
    while (load.accepted < acceptedBefore + 20 && Date.now() < upAt + RESUMED_WITHIN_MS) await delay(20)
    const resumed = load.accepted - acceptedBefore
    await delay(2_000)
    await load.stop()

    expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
    expect(resumed).toBeGreaterThanOrEqual(20)
    const meanwhile = load.client.log.filter(({ startedAt, endedAt }) => startedAt > downAt + EDGE_MS && endedAt < upAt)
    expect(meanwhile.filter(isSubmission).length).toBeGreaterThan(10)
    expect(meanwhile.filter(({ status }) => status !== 503)).toEqual([])
    const refusals = load.client.refusals.filter(({ at }) => at > downAt && at < upAt)
    expect(refusals.filter(({ retryAfter }) => !(Number(retryAfter) >= 1))).toEqual([])
    expect([scenario.server, ...workers].map(({ isRunning }) => isRunning)).toEqual([true, true, true])
    expect(await scenario.query(`select id, crashes from outcomes where crashes > 0`)).toEqual([])
  },
)
