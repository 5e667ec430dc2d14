// A worker that dies in mid-task, and what becomes of the task. Run: node --test examples/testing/
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { Worker } from '@duly/sdk'
import { startTestServer } from 'duly/testing'
import { charge, chargeCard } from './charge.mjs'

let server
before(async () => {
  server = await startTestServer()
})
after(() => server.stop())

test('a charge whose worker dies is made by another one, under the same key', async () => {
  const asked = new EventTarget()
  const keys = []
  const pay = async ({ key, signal }) => {
    keys.push(key)
    asked.dispatchEvent(new Event('payment'))
    // the first answer never comes
    return keys.length === 1 ? once(signal, 'abort') : { status: 200, id: 'ch-3' }
  }
  const start = async () => {
    const worker = new Worker(server.client).handle(charge, chargeCard(pay))
    await worker.start()
    return worker
  }
  const first = await start()
  const payment = once(asked, 'payment')
  const handle = await server.client.submit(charge, { cents: 1_200 })
  await payment
  await server.loseWorker(first)

  const second = await start()
  await server.advance('15s')
  assert.deepEqual(await handle.result(), { charge: 'ch-3', attempt: 2 })
  assert.equal(keys[0], keys[1])
  await second.stop()
})
