import { Duly, defineTask, type, Worker, type WorkflowRecord } from '@duly/sdk'

const collect = defineTask('collect', {
  payload: type<{ day: string }>(),
  result: type<{ rows: number }>(),
  queue: 'nightly',
})
const publish = defineTask('publish', { payload: type<null>(), queue: 'nightly', dependencies: { collect } })
const startNightly = defineTask('start_nightly', {
  payload: type<null>(),
  result: type<{ workflow_id: string }>(),
  queue: 'nightly',
})

export const duly = new Duly()
export const worker = new Worker(duly, { slots: 10 })

worker.handle(startNightly, async (_, context) => {
  const day = (context.scheduledAt ?? new Date()).toISOString().slice(0, 10)
  const nightly = context.workflow('nightly') // in the tenant and the trace of this task
  const collected = nightly.task('collect', collect, { day })
  nightly.task('publish', publish, null, { after: [collected] })
  const { id } = await nightly.submit({ idempotencyKey: context.idempotencyKey }) // the same in every attempt: one workflow for each fire time
  return { workflow_id: id }
})
worker.handle(collect, async ({ day }) => ({ rows: day.length }))
worker.handle(publish, async (_, { dependencies }) => `${(await dependencies.result('collect')).rows} rows`)

await worker.start()
await duly.cron.upsert('nightly', startNightly, { cron: '0 2 * * *', timezone: 'Europe/Berlin', payload: null })

/** Does not wait for the night: fires it by hand, and waits for the workflow that it submits. */
export async function runTonight(): Promise<WorkflowRecord> {
  const { id } = await duly.cron.getByName('nightly')
  const fired = await duly.cron.trigger(id)
  const { workflow_id } = (await fired.result()) as { workflow_id: string }
  const handle = await duly.workflows.handle(workflow_id)
  return handle.result()
}
