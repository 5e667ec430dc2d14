import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startHttpProxy } from '../support/http-proxy.js'
import type { TestProcess } from '../support/test-process.js'
import { describeFindings } from './checker/finding.js'
import { Load } from './load/load.js'
import { randomOf } from './load/random.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const SERVERS = 2
const MIX = { succeed: 40, work: 40, flaky: 10, snooze: 5, permanent: 5 } as const

/** No handler may start once its worker has heard that it is to stop; a start that was under way gets this long. */
const UNDER_WAY_MS = 250

/** When a worker that has ended was told to stop, by its own clock: a machine may be slow to wake it. Never, if it had started nothing. */
async function toldAt({ pid, exited, output }: TestProcess): Promise<{ readonly pid: number; readonly at: number }> {
  await exited
  const line = output.map((each) => /told to stop at (\d+)/.exec(each)).find((found) => found !== null)
  return { pid, at: Number(line?.[1] ?? Number.POSITIVE_INFINITY) }
}

/** Starts a worker and waits until it works: one that is told to stop before it listens to signals dies of them. */
async function freshWorker(scenario: Scenario, url: string): Promise<TestProcess> {
  const worker = scenario.addWorker({}, url)
  await worker.line(/registered as/)
  return worker
}

async function stop(process: TestProcess): Promise<void> {
  const exit = await process.kill('SIGTERM')
  expect(exit, process.describe('did not stop cleanly')).toEqual({ code: 0, signal: null })
}

async function replaceServer(scenario: Scenario, index: number): Promise<void> {
  await stop(scenario.serverAt(index))
  await scenario.restartServer(index)
}

// The row "a deploy" of the failure table: one process after the other, all the time.
test('a deployment burns no attempt: whoever is told to stop finishes or gives back', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start({ servers: SERVERS })
  // One address for all, as behind a load balancer, which sends nothing new to a server that is about to be stopped.
  let serving = 0
  const { url } = await startHttpProxy(() => scenario.urlOf(serving))
  const workers = [await freshWorker(scenario, url), await freshWorker(scenario, url), await freshWorker(scenario, url)]
  const random = randomOf('deploy')
  const load = new Load({ open: scenario.open, url: () => url, perSecond: 80, mix: MIX }).start()
  const stopped: TestProcess[] = []
  const until = performance.now() + faultMs
  for (let round = 0; performance.now() < until || round < 8; round += 1) {
    await delay(random.between(200, 1_000))
    if (round % 4 === 3) {
      const leaving = serving
      serving = (serving + 1) % SERVERS
      await replaceServer(scenario, leaving)
    } else {
      const index = round % workers.length
      const old = workers[index] as TestProcess
      await stop(old)
      stopped.push(old)
      workers[index] = await freshWorker(scenario, url)
    }
  }
  await load.stop()

  expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
  expect(load.client.log.filter(({ outcome, status }) => outcome === 'unknown' || (status ?? 500) >= 500)).toEqual([])
  expect(await scenario.query('select id, crashes from outcomes where crashes > 0')).toEqual([])
  // what a stopping worker did not fetch goes back without a loss; only the watchdog's word counts as one
  expect(await scenario.query(`select task_id from failed_attempts where error_class = 'WorkerLost'`)).toEqual([])
  const told = await Promise.all(stopped.map(toldAt))
  expect(told.some(({ at }) => Number.isFinite(at))).toBe(true)
  const late = scenario.handlerLog.filter(({ event, pid, at }) =>
    told.some((each) => event === 'start' && each.pid === pid && at > each.at + UNDER_WAY_MS),
  )
  expect(late).toEqual([])
})
