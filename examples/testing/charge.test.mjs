// Tests of the handler alone: no server. Run: node --test examples/testing/
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHandler } from '@duly/sdk/testing'
import { charge, chargeCard } from './charge.mjs'

test('the key of the task goes to the payment service', async () => {
  const requests = []
  const handler = chargeCard(async (request) => {
    requests.push(request)
    return { status: 200, id: 'ch-1' }
  })
  const run = await runHandler(charge, handler, { cents: 1_200 }, { attempt: 2, idempotencyKey: 'order-7' })
  assert.deepEqual(run.result, { charge: 'ch-1', attempt: 2 })
  assert.equal(requests[0].key, 'order-7')
})

test('a charge of nothing is not tried again', async () => {
  const handler = chargeCard(async () => assert.fail('must not be called'))
  const { outcome } = await runHandler(charge, handler, { cents: 0 })
  assert.equal(outcome.kind, 'failed')
  assert.equal(outcome.isRetryable, false)
})

test('a service that has enough is asked again when it said', async () => {
  const handler = chargeCard(async () => ({ status: 429, retryAfter: '2h' }))
  const { outcome } = await runHandler(charge, handler, { cents: 1_200 })
  assert.equal(outcome.isRetryable, true)
  assert.equal(outcome.retryAfterMs, 7_200_000)
})

test('a call that hangs ends with the time limit', async () => {
  const handler = chargeCard(({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', reject)))
  const { outcome } = await runHandler(charge, handler, { cents: 1_200 }, { timeout: '50ms' })
  assert.equal(outcome.isTimedOut, true)
})
