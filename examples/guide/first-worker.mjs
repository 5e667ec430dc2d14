// Defines a task type, works for it, submits one task and waits for its result. Run: node examples/guide/first-worker.mjs
import { Duly, defineTask, Worker } from '@duly/sdk'

const greet = defineTask('greet', { queue: 'guide', timeout: '10s', retry: { limit: 5, delay: '1s' } })

const duly = new Duly() // DULY_URL, else http://127.0.0.1:7070
const worker = new Worker(duly, { slots: 10 })
worker.handle(greet, async ({ name }, context) => {
  return { greeting: `Hello ${name}`, attempt: context.attempt }
})
await worker.start()

const handle = await duly.submit(greet, { name: 'Ada' }, { delay: '200ms' })
console.log(await handle.result())

await worker.stop()
duly.close()
