// Tests of the handler alone: no server. Run: node --test examples/testing/
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PermanentError } from '@duly/sdk'
import { chargeCard } from './charge.mjs'

/** What the handler looks at, and no more. */
const context = { attempt: 1, idempotencyKey: 'order-7', signal: new AbortController().signal }

test('the key of the task goes to the payment service', async () => {
  const requests = []
  const handler = chargeCard(async (request) => {
    requests.push(request)
    return { status: 200, id: 'ch-1' }
  })
  assert.deepEqual(await handler({ cents: 1_200 }, context), { charge: 'ch-1', attempt: 1 })
  assert.equal(requests[0].key, 'order-7')
})

test('a charge of nothing is not tried again', async () => {
  const handler = chargeCard(async () => assert.fail('must not be called'))
  await assert.rejects(handler({ cents: 0 }, context), PermanentError)
})
