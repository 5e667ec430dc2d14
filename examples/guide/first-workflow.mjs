// Counts words in parts side by side, and sums them up when all are counted. Run: node examples/guide/first-workflow.mjs
import { Duly, defineTask, Worker } from '@duly/sdk'

const count = defineTask('count_words', { queue: 'guide-workflow' })
const sum = defineTask('sum_words', { queue: 'guide-workflow' })

const duly = new Duly() // DULY_URL, else http://127.0.0.1:7070
const worker = new Worker(duly, { slots: 10 })
worker.handle(count, async ({ text }) => text.split(' ').length)
worker.handle(sum, async (_, { dependencies }) => {
  let words = 0
  for await (const [, counted] of dependencies.results(count)) words += counted
  return { words }
})
await worker.start()

const workflow = duly.workflow('word-count')
const texts = ['to be, or not to be', 'that is the question']
const parts = texts.map((text, n) => workflow.task(`part-${n}`, count, { text }))
const total = workflow.task('total', sum, null, { after: parts })

const handle = await workflow.submit()
console.log(await handle.node(total).result())

await worker.stop()
duly.close()
