import { expect, test } from 'vitest'
import { describeFindings } from './checker/finding.js'
import { LoggingClient } from './load/client.js'
import { submissionOf } from './load/submissions.js'
import { Scenario, testLimitMs } from './scenario.js'

const QUICK = { DULY_CHAOS_HEARTBEAT_MS: '1000' }

test('a task that kills its workers dies of it, and its neighbours go free', { timeout: testLimitMs }, async () => {
  const scenario = await Scenario.start()
  const client = new LoggingClient(() => scenario.url)
  let isOver = false
  const keepAlive = async (): Promise<void> => {
    while (!isOver) await scenario.addWorker(QUICK).exited
  }
  const supervisors = [keepAlive(), keepAlive()]
  const neighbours = Array.from({ length: 40 }, (_, index) =>
    submissionOf('work', `neighbour ${index}`, { work_ms: 700 }),
  )
  const [before, after] = [neighbours.slice(0, 12), neighbours.slice(12)]
  await client.submitBatch([...before, submissionOf('poison', 'poison'), ...after])

  await scenario.untilDrained()
  isOver = true
  for (const each of scenario.processes.slice(1)) each.signal('SIGTERM')
  await Promise.all(supervisors)
  expect(describeFindings(await scenario.finish(client.log))).toBe('')
  const [poison] = await scenario.query<{ attempt: number; undelivered: number }>(
    `select status, attempt, crashes, undelivered, reason from outcomes join tasks using (id) where task_type = 'chaos.poison'`,
  )
  expect(poison).toMatchObject({ status: 'DEAD', crashes: 3 })
  // One may have come before its grant was acknowledged: that one counts as undelivered.
  expect(poison?.attempt).toBe(3 + (poison?.undelivered ?? 0))
  // Those that ran beside it lost that attempt, once: from then on it was a suspect and ran without other suspects.
  const [worst] = await scenario.query<{ crashes: number }>(
    `select max(crashes) as crashes from outcomes where status = 'SUCCEEDED'`,
  )
  expect(worst?.crashes).toBeLessThan(3)
})
