// One key, one task; and one effect, however often the handler runs. Run: node examples/guide/idempotency.mjs
import { randomUUID } from 'node:crypto'
import { Duly, DulyApiError, defineTask, Worker } from '@duly/sdk'

const charge = defineTask('charge', { queue: 'guide-idempotency', retry: { limit: 3, delay: '50ms' } })
const payments = new Map() // stands for a payment service that knows idempotency keys

const duly = new Duly()
const worker = new Worker(duly)
worker.handle(charge, async ({ cents }, { attempt, idempotencyKey }) => {
  if (!payments.has(idempotencyKey)) payments.set(idempotencyKey, cents)
  if (attempt === 1) throw new Error('the answer of the payment service got lost')
  return { charged: payments.get(idempotencyKey), attempt }
})
await worker.start()

const idempotencyKey = `invoice-${randomUUID()}`
const first = await duly.submit(charge, { cents: 1_200 }, { idempotencyKey })
const second = await duly.submit(charge, { cents: 1_200 }, { idempotencyKey })
console.log('the same task:', first.id === second.id, 'replay:', second.isReplay)
console.log(await second.result(), 'payments:', payments.size)

try {
  await duly.submit(charge, { cents: 9_900 }, { idempotencyKey })
} catch (error) {
  if (!(error instanceof DulyApiError)) throw error
  console.log('another request:', error.status, error.code)
}

await worker.stop()
duly.close()
