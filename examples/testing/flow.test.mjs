// Tests of the whole way, on a real server. Run in the root of the checkout: node --test examples/testing/
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { TaskFailedError, Worker } from '@duly/sdk'
import { startTestServer } from 'duly/testing'
import { charge, chargeCard } from './charge.mjs'

let server
before(async () => {
  server = await startTestServer()
})
after(() => server.stop())

/** A worker whose payment service answers these in turn; it stops with the test. */
async function startWorker(t, answers) {
  const pay = async () => answers.shift()
  const worker = new Worker(server.client).handle(charge, chargeCard(pay))
  await worker.start()
  t.after(() => worker.stop())
}

test('a charge is tried again until the service works', async (t) => {
  await startWorker(t, [{ status: 503 }, { status: 429, retryAfter: '2h' }, { status: 200, id: 'ch-1' }])
  const handle = await server.client.submit(charge, { cents: 1_200 })
  await server.advance('1d')
  assert.deepEqual(await handle.result(), { charge: 'ch-1', attempt: 3 })
  const attempts = await server.client.tasks.attempts(handle.id)
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['failed', 'failed', 'succeeded'],
  )
})

test('when the service stays away, the task is dead and says why', async (t) => {
  await startWorker(t, Array(6).fill({ status: 503 }))
  const handle = await server.client.submit(charge, { cents: 1_200 })
  await server.advance('1d')
  await assert.rejects(handle.result(), (error) => {
    assert.ok(error instanceof TaskFailedError)
    assert.equal(error.status, 'DEAD')
    assert.match(error.error.message, /the service says 503/)
    return true
  })
})

test('the same order is charged once', async (t) => {
  await startWorker(t, [{ status: 200, id: 'ch-2' }])
  const submit = () => server.client.submit(charge, { cents: 900 }, { idempotencyKey: 'order-7' })
  const [first, second] = await Promise.all([submit(), submit()])
  assert.equal(first.id, second.id)
  assert.equal((await second.result()).charge, 'ch-2')
})
