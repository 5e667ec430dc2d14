import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import { Backlog } from './load/backlog.js'
import { LoggingClient } from './load/client.js'
import { type Random, randomOf } from './load/random.js'
import { drawSubmission, type Mix } from './load/submissions.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const QUICK = { DULY_CHAOS_HEARTBEAT_MS: '1000' }
/** Every way to leave RUNNING that a cancellation can meet. */
const MIX = {
  succeed: 25,
  work: 20,
  flaky: 20,
  doomed: 10,
  permanent: 10,
  snooze: 10,
  overrun: 5,
} as const satisfies Mix

/** Racers wait while more is open: a cancellation is to meet tasks that run, not a queue of a slow machine. */
const MOST_OPEN = 60

/** Submits a task, then cancels it (several times at once), looks at it, and sometimes replays it, all at random instants. */
async function raceOne(client: LoggingClient, random: Random, mark: string): Promise<void> {
  const { ids } = await client.submit(drawSubmission(random, mark, { mix: MIX }))
  const id = ids[0]
  if (id === undefined) return
  const instants = Array.from({ length: random.integer(1, 3) }, () => random.between(0, 500))
  await Promise.all(instants.map((ms) => delay(ms).then(() => client.cancel(id))))
  await client.get(id)
  if (random.next() < 0.5)
    await Promise.all([
      client.replay(id),
      client.replay(id),
      delay(random.between(0, 50)).then(() => client.cancel(id)),
    ])
  await client.get(id)
}

test('cancellations race with every end of an attempt, with losses and with replays', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start()
  const client = new LoggingClient(() => scenario.url)
  const workers = [scenario.addWorker(QUICK), scenario.addWorker(QUICK)]
  const until = performance.now() + faultMs
  const backlog = new Backlog({ count: scenario.open, limit: MOST_OPEN })
  const racers = Array.from({ length: 12 }, async (_, racer) => {
    const random = randomOf(`racer ${racer}`)
    for (let round = 0; performance.now() < until; round += 1) {
      await raceOne(client, random, `m${racer}-${round}`)
      await backlog.untilRoom()
    }
  })
  // Losses race too: one worker is killed now and then.
  const random = randomOf('killer')
  while (performance.now() < until) {
    await delay(random.between(2_000, 4_000))
    await workers.shift()?.kill('SIGKILL')
    workers.push(scenario.addWorker(QUICK))
  }
  await Promise.all(racers)

  expect(describeFindings(await scenario.finish(client.log))).toBe('')
  const statuses = new Set(client.log.filter(({ verb }) => verb === 'cancel').map(({ status }) => status))
  expect([...statuses].sort()).toEqual([200, 202, 409])
})
