import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import { Load } from './load/load.js'
import { type Random, randomOf } from './load/random.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

/** One node that takes tasks and gives them out, and these that promote them. */
const SCHEDULERS = [1, 2, 3]
const ROLES = { envOf: (server: number) => ({ DULY_ROLES: server === 0 ? 'api' : 'scheduler' }) }
const DELAYED = { succeed: 60, flaky: 30, snooze: 10 }
/** A dead leader is replaced within 10 s; the rest is for a machine that has other things to do. */
const TAKEOVER_MS = 10_000
const SLACK_MS = 8_000
/** What hands over does not wait for a lease of 6 s to end. */
const HANDOVER_MS = 4_000

/** What the longest wait for a promotion was, looked at all the time. */
function watchLateness(scenario: Scenario): { stop(): Promise<number> } {
  let isOver = false
  let worstMs = 0
  const watching = (async () => {
    while (!isOver) {
      const [row] = await scenario.query<{ ms: number }>(
        `select coalesce(max(date_part('epoch', now() - due_at)) * 1000, 0) as ms from open_tasks
         where status in ('SCHEDULED', 'RETRYING') and due_at <= now()`,
      )
      worstMs = Math.max(worstMs, row?.ms ?? 0)
      await delay(50)
    }
  })()
  return {
    stop: async () => {
      isOver = true
      await watching
      return worstMs
    },
  }
}

async function untilLed(scenario: Scenario): Promise<void> {
  await scenario.untilRow('select 1 from partitions having count(leader) = 64 and count(distinct leader) = 3')
}

/** Killed and started again, or frozen: for less than a lease, or past it and past its replacement. */
async function hit(scenario: Scenario, random: Random): Promise<void> {
  const index = random.pick(SCHEDULERS)
  if (random.next() < 0.5) {
    await scenario.serverAt(index).kill('SIGKILL')
    await delay(random.between(0, 2_000))
    await scenario.restartServer(index)
    return
  }
  scenario.serverAt(index).signal('SIGSTOP')
  await delay(random.between(1_000, 9_000))
  scenario.serverAt(index).signal('SIGCONT')
}

test('leaders that are killed and frozen at random promote nothing twice, lose nothing, and nothing waits longer than for their replacement', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start({ servers: 4, ...ROLES })
  const random = randomOf('leaders')
  const worker = scenario.addWorker()
  await untilLed(scenario)
  const load = new Load({
    open: scenario.open,
    url: () => scenario.url,
    perSecond: 60,
    mix: DELAYED,
    delayed: 0.8,
  }).start()
  const lateness = watchLateness(scenario)
  const until = performance.now() + faultMs
  while (performance.now() < until || load.accepted < 100) {
    await hit(scenario, random)
    await delay(random.between(0, 1_000))
  }
  await load.stop()
  const findings = await scenario.finish(load.client.log)
  const worstMs = await lateness.stop()
  console.info(`the longest wait for a promotion: ${(worstMs / 1_000).toFixed(1)} s`)
  expect(describeFindings(findings)).toBe('')
  expect(worstMs).toBeLessThan(TAKEOVER_MS + SLACK_MS)
  worker.signal('SIGTERM')
  await worker.exited
})

test('a leader that is told to stop hands over before it goes', { timeout: testLimitMs }, async () => {
  const scenario = await Scenario.start({ servers: 4, ...ROLES })
  const random = randomOf('handover')
  const worker = scenario.addWorker()
  await untilLed(scenario)
  const load = new Load({
    open: scenario.open,
    url: () => scenario.url,
    perSecond: 40,
    mix: DELAYED,
    delayed: 0.8,
  }).start()
  const lateness = watchLateness(scenario)
  const until = performance.now() + faultMs / 2
  while (performance.now() < until || load.accepted < 100) {
    const index = random.pick(SCHEDULERS)
    await scenario.serverAt(index).kill('SIGTERM')
    await scenario.restartServer(index)
    await untilLed(scenario)
  }
  await load.stop()
  const findings = await scenario.finish(load.client.log)
  const worstMs = await lateness.stop()
  console.info(`the longest wait for a promotion: ${(worstMs / 1_000).toFixed(1)} s`)
  expect(describeFindings(findings)).toBe('')
  expect(worstMs).toBeLessThan(HANDOVER_MS)
  worker.signal('SIGTERM')
  await worker.exited
})
