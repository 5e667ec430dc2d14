import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startHttpProxy } from '../support/http-proxy.js'
import { describeFindings } from './checker/finding.js'
import { LoggingClient } from './load/client.js'
import { Load } from './load/load.js'
import { randomOf } from './load/random.js'
import { submissionOf } from './load/submissions.js'
import { faultMs, Scenario, testLimitMs } from './scenario.js'

const CUT_SHARE = 0.2
const LEAST_CUTS = 50

const hasTasks = (body: string) => body.includes('"task_id"')

test('a poll whose answer is lost is healed: the same lease comes again', { timeout: testLimitMs }, async () => {
  const scenario = await Scenario.start()
  const proxy = await startHttpProxy(() => scenario.url)
  proxy.cutWhen(({ path, body }) => /\/(poll|exchange)$/.test(path) && hasTasks(body) && proxy.cuts.length === 0)
  const client = new LoggingClient(() => scenario.url)
  scenario.addWorker({}, proxy.url)
  await client.submit(submissionOf('succeed', 'task'))

  const start = await scenario.untilHandler(({ event }) => event === 'start')
  expect(proxy.cuts).toHaveLength(1)
  // long before a held poll would have come to its end
  expect(start.at - (proxy.cuts[0]?.at ?? 0)).toBeLessThan(25_000)
  expect(describeFindings(await scenario.finish(client.log))).toBe('')
  expect(await scenario.query('select attempt, crashes, undelivered from outcomes')).toEqual([
    { attempt: 1, crashes: 0, undelivered: 0 },
  ])
})

test('answers lost at random, of workers and of clients, lose and double nothing', {
  timeout: testLimitMs,
}, async () => {
  const scenario = await Scenario.start()
  const [toWorkers, toClients] = [await startHttpProxy(() => scenario.url), await startHttpProxy(() => scenario.url)]
  const random = randomOf('proxy')
  toWorkers.cutWhen(() => random.next() < CUT_SHARE)
  toClients.cutWhen(({ method }) => method === 'POST' && random.next() < CUT_SHARE)
  scenario.addWorker({}, toWorkers.url)
  scenario.addWorker({}, toWorkers.url)
  const load = new Load({ open: scenario.open, url: () => toClients.url, perSecond: 120 }).start()
  const until = performance.now() + faultMs
  const enough = () => toWorkers.cuts.length > LEAST_CUTS && toClients.cuts.length > LEAST_CUTS
  while (performance.now() < until || !enough()) await delay(100)
  await load.stop()
  toWorkers.cutWhen(() => false)

  expect(describeFindings(await scenario.finish(load.client.log))).toBe('')
  expect(await scenario.query('select id, crashes from outcomes where crashes > 0')).toEqual([])
})
