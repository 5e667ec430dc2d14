// Tasks that die, what they have in common, and what becomes of them. Run: node examples/guide/dead-letters.mjs
import { Duly, Worker } from '@duly/sdk'

const duly = new Duly()
const worker = new Worker(duly, { queues: ['guide-dead'], slots: 10 })
let isDown = true
worker.handle('charge', async ({ order }) => {
  if (!isDown) return { charged: order }
  throw Object.assign(new Error(`no answer for order ${order}`), { name: 'ServiceDown' })
})
worker.handle('refund', async ({ order }) => {
  throw Object.assign(new Error(`no such order: ${order}`), { name: 'NoSuchOrder' })
})
await worker.start()

const types = ['charge', 'charge', 'charge', 'refund', 'refund']
const options = { queue: 'guide-dead', retry: { limit: 0 } }
const handles = await duly.tasks.submitBatch(types.map((task, order) => ({ task, payload: { order }, options })))
for (const { id } of handles) await duly.tasks.wait(id)

isDown = false

const { items } = await duly.dlq.summary({ queue: 'guide-dead' })
for (const { letters, errorClass, errorPattern, fingerprint } of items) {
  console.log(`${letters} × ${errorClass}: ${errorPattern} (${fingerprint})`)
}
const again = await duly.dlq.retryAll({ queue: 'guide-dead', errorClass: 'ServiceDown' })
const { done, skipped } = await again.result({ timeout: '30s' })
console.log(`run again: ${done}, skipped: ${skipped}`)

const preview = await duly.tasks.bulk('discard', { queue: 'guide-dead' }, { dryRun: true })
const operation = await duly.tasks.bulk('discard', { queue: 'guide-dead' })
await operation.result({ onProgress: ({ matched }) => console.log(`${matched} of ${preview.matched}`) })

await worker.stop()
duly.close()
