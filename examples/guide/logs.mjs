// A handler that tells what it does, followed while it runs; and why a task waits. Run: node examples/guide/logs.mjs
import { Duly, defineTask, Worker } from '@duly/sdk'

const importFile = defineTask('import_file', { queue: 'guide-logs' })

const duly = new Duly()
const handle = await duly.submit(importFile, { rows: 3 })
console.log((await handle.explain()).causes[0].code)

const worker = new Worker(duly)
worker.handle(importFile, async ({ rows }, context) => {
  for (let row = 1; row <= rows; row++) {
    context.log(row === 2 ? 'warn' : 'info', `row ${row}`)
    context.progress((100 * row) / rows)
  }
})
await worker.start()

for await (const { level, message } of handle.logs({ follow: true })) {
  console.log(level, message)
}
console.log((await handle.explain()).causes[0].code)

await worker.stop()
duly.close()
