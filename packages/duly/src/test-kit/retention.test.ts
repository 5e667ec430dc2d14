import { Worker } from '@duly/sdk'
import { expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { startTestServer } from './index.js'

test('finished tasks go with the midnights that pass, if the test asks for it', async () => {
  const database = await createDatabase({ empty: true })
  const server = await startTestServer({ databaseUrl: database.url, retentionDays: 2, patience: '60s' })
  const worker = new Worker(server.client, { logger: null }).handle('work', () => 'done')
  await worker.start()
  const { id } = await server.client.submit('work', {})
  await server.advance('1d')
  expect((await server.client.tasks.get(id)).status).toBe('SUCCEEDED')
  await server.advance('4d')
  await expect(server.client.tasks.get(id)).rejects.toMatchObject({ status: 404 })
  await worker.stop()
  await server.stop()
  await database.drop()
})
