// Tests of the whole way, on a real server. Run in the root of the checkout: node --test examples/testing/
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Duly, TaskFailedError, Worker } from '@duly/sdk'
import { charge, chargeCard } from './charge.mjs'
import { startDuly } from './start-duly.mjs'

const QUICK = { delay: '10ms', jitter: 'none' }
let server
let duly
before(async () => {
  server = await startDuly()
  duly = new Duly({ url: server.url })
})
after(async () => {
  duly.close()
  await server.stop()
})

/** A worker whose payment service answers these in turn; it stops with the test. */
async function startWorker(t, answers) {
  const pay = async () => answers.shift()
  const worker = new Worker(duly).handle(charge, chargeCard(pay))
  await worker.start()
  t.after(() => worker.stop())
}

test('a charge is tried again until the service works', async (t) => {
  await startWorker(t, [{ status: 503 }, { status: 429, retryAfter: '20ms' }, { status: 200, id: 'ch-1' }])
  const handle = await duly.submit(charge, { cents: 1_200 }, { retry: QUICK })
  assert.deepEqual(await handle.result(), { charge: 'ch-1', attempt: 3 })
  const attempts = await duly.tasks.attempts(handle.id)
  assert.deepEqual(
    attempts.map(({ outcome }) => outcome),
    ['failed', 'failed', 'succeeded'],
  )
})

test('when the service stays away, the task is dead and says why', async (t) => {
  await startWorker(t, [{ status: 503 }, { status: 503 }])
  const handle = await duly.submit(charge, { cents: 1_200 }, { retry: { ...QUICK, limit: 1 } })
  await assert.rejects(handle.result(), (error) => {
    assert.ok(error instanceof TaskFailedError)
    assert.equal(error.status, 'DEAD')
    assert.match(error.error.message, /the service says 503/)
    return true
  })
})

test('the same order is charged once', async (t) => {
  await startWorker(t, [{ status: 200, id: 'ch-2' }])
  const submit = () => duly.submit(charge, { cents: 900 }, { idempotencyKey: 'order-7' })
  const [first, second] = await Promise.all([submit(), submit()])
  assert.equal(first.id, second.id)
  assert.equal((await second.result()).charge, 'ch-2')
})
