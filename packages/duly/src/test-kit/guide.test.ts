import { Worker } from '@duly/sdk'
import { startTestServer, type TestServer } from 'duly/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ at: '2026-03-06T00:00:00Z' })
}, 60_000)
afterAll(() => server.stop())

test('a report is made at 6 in New York, also when the clock changes', async () => {
  const made: string[] = []
  const worker = new Worker(server.client).handle('report', () => void made.push(server.now().toISOString()))
  await worker.start()
  await server.client.cron.create('daily-report', 'report', { cron: '0 6 * * *', timezone: 'America/New_York' })
  await server.advance('4d')
  expect(made).toEqual([
    '2026-03-06T11:00:00.000Z',
    '2026-03-07T11:00:00.000Z',
    '2026-03-08T10:00:00.000Z',
    '2026-03-09T10:00:00.000Z',
  ])
  await worker.stop()
})
