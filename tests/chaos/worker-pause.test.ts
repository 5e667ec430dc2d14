import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import { LoggingClient } from './load/client.js'
import { submissionOf } from './load/submissions.js'
import { Scenario, testLimitMs } from './scenario.js'

/** A lease of 1.5 s, so that the test need not wait for fifteen. */
const QUICK = { DULY_CHAOS_HEARTBEAT_MS: '500' }

/** When the handlers return that return at the instant at which their worker wakes: later than it is paused, however slow the machine. */
const RETURN_MS = 10_000

// I4: the pause may come from a debugger, a laptop's lid, a container that is throttled to nothing.
test('a worker that is paused past its lease cannot finish its tasks when it comes back', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start()
  const client = new LoggingClient(() => scenario.url)
  const paused = scenario.addWorker(QUICK)
  // When it wakes, these handlers are still at work (and must be aborted) …
  for (const mark of ['a', 'b', 'c']) await client.submit(submissionOf('work', mark, { first_ms: 60_000, work_ms: 50 }))
  // … while these return at that instant, so that a stale success is reported.
  for (const mark of ['d', 'e', 'f'])
    await client.submit(submissionOf('work', mark, { first_ms: RETURN_MS, work_ms: 50 }))
  for (const mark of 'abcdef') await scenario.untilHandler((record) => record.mark === mark && record.event === 'start')

  paused.signal('SIGSTOP')
  const pausedAt = Date.now()
  const other = scenario.addWorker()
  await scenario.untilDrained()
  const second = scenario.handlerLog.find(({ lease }) => lease.attempt === 2)
  // The frozen worker's poll is still open, and must not stand in the way of the living one.
  expect((second?.at ?? 0) - pausedAt).toBeLessThan(20_000)
  const before = await scenario.query('select id, status, attempt, token, result from outcomes order by id')
  expect(before).toHaveLength(6)

  while (Date.now() < pausedAt + RETURN_MS) await delay(100)
  paused.signal('SIGCONT')
  for (const mark of 'abcdef') {
    const end = await scenario.untilHandler(
      (each) => each.mark === mark && each.event === 'end' && each.pid === paused.pid,
    )
    if ('abc'.includes(mark)) expect(end).toMatchObject({ left: 'threw', aborted: true, lease: { attempt: 1 } })
  }
  // The other one was healthy all the time, and kept its session.
  expect(other.output.filter((line) => line.includes('registered as'))).toHaveLength(1)
  // The paused one works on under a session of its own: a task that only it can take.
  await other.kill('SIGTERM')
  await client.submit(submissionOf('succeed', 'g'))
  await scenario.untilHandler((record) => record.mark === 'g' && record.pid === paused.pid)

  expect(describeFindings(await scenario.finish(client.log))).toBe('')
  expect(
    await scenario.query(`select id, status, attempt, token, result from outcomes where attempt > 1 order by id`),
  ).toEqual(before)
})
