import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import { LoggingClient } from './load/client.js'
import { submissionOf } from './load/submissions.js'
import { Scenario, testLimitMs } from './scenario.js'

test('a task whose worker is killed runs elsewhere within 20 s at default settings', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start()
  const client = new LoggingClient(() => scenario.url)
  const workers = [scenario.addWorker(), scenario.addWorker()]
  await client.submit(submissionOf('work', 'task', { first_ms: 60_000, work_ms: 10 }))
  const first = await scenario.untilHandler(({ event }) => event === 'start')
  // A grant that was never acknowledged would count as undelivered, not as a crash.
  await scenario.untilRow('select session from session_grants where received > 0')
  const killedAt = Date.now()
  await workers.find(({ pid }) => pid === first.pid)?.kill('SIGKILL')

  const second = await scenario.untilHandler(({ lease, event }) => lease.attempt === 2 && event === 'start')
  expect(second.pid).not.toBe(first.pid)
  // the lease of 15 s and some looks; the rest is for a machine that has other things to do
  expect(second.at - killedAt).toBeLessThan(60_000)
  expect(describeFindings(await scenario.finish(client.log))).toBe('')
  expect(await scenario.query('select attempt, failures, crashes from outcomes')).toEqual([
    { attempt: 2, failures: 0, crashes: 1 },
  ])
})
