import { Worker } from '@duly/sdk'
import { startTestServer, type TestServer } from 'duly/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ at: '2026-03-06T06:00:00Z' })
}, 60_000)
afterAll(() => server.stop())

test('a report is made each morning', async () => {
  const made: string[] = []
  const worker = new Worker(server.client).handle('report', async (_payload, context) => {
    made.push(server.now().toISOString())
    await context.submit('report', {}, { delay: '24h' })
  })
  await worker.start()
  await server.client.submit('report', {})
  await server.advance('7d')
  expect(made).toHaveLength(8)
  expect(made.at(-1)).toBe('2026-03-13T06:00:00.000Z')
  await worker.stop()
})
