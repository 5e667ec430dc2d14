import { Duly, defineTask, type, Worker } from '@duly/sdk'

const split = defineTask('split', { payload: type<{ pages: number }>(), queue: 'pages' })
const render = defineTask('render', {
  payload: type<{ page: number }>(),
  result: type<{ bytes: number }>(),
  queue: 'pages',
})
const merge = defineTask('merge', { payload: type<null>(), result: type<{ bytes: number }>(), queue: 'pages' })

export const duly = new Duly()
export const worker = new Worker(duly, { slots: 10 })

worker.handle(split, async ({ pages }, context) => {
  await context.addTasks((graph) => {
    const parts = Array.from({ length: pages }, (_, n) => graph.task(`render-${n}`, render, { page: n }))
    graph.task('merge', merge, null, { after: parts })
  })
})
worker.handle(render, async ({ page }) => ({ bytes: 100 + page }))
worker.handle(merge, async (_, { dependencies }) => {
  let bytes = 0
  for await (const [, part] of dependencies.results(render)) bytes += part.bytes
  return { bytes }
})

await worker.start()

export async function printPages(pages: number): Promise<number> {
  const workflow = duly.workflow('print')
  workflow.task('split', split, { pages })
  const { id } = await workflow.submit()
  await duly.workflows.wait(id)
  const handle = await duly.workflows.handle(id) // knows the tasks that were added
  const { bytes } = await handle.node('merge', merge).result()
  return bytes
}
