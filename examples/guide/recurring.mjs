// A recurring task as a deployment defines it, and what its handler gets. Run: node examples/guide/recurring.mjs
import { Duly, defineTask, Worker } from '@duly/sdk'

const report = defineTask('sales_report', { queue: 'guide-reports', retry: { limit: 2 } })

const duly = new Duly()
const daily = await duly.cron.upsert('sales-report', report, {
  cron: '0 9 * * 1-5',
  timezone: 'America/New_York',
  overlap: 'queue',
  payload: { region: 'east' },
})
console.log(daily.description)
const [next] = await duly.cron.fireTimes(daily.id, 1)
console.log('the next one is the one that is foretold:', next.getTime() === daily.nextFireTime.getTime())

const often = await duly.cron.upsert('sales-ticker', report, { every: '1s', payload: { region: 'west' } })

const worker = new Worker(duly)
const reported = new Promise((resolve) => {
  worker.handle(report, ({ region }, { scheduledAt, cronId }) => {
    if (cronId === often.id) resolve(scheduledAt)
    return { region, day: scheduledAt?.toISOString().slice(0, 10) ?? 'by hand' }
  })
})
await worker.start()

const handle = await duly.cron.trigger(daily.id)
console.log(await handle.result())

const at = await reported
const { items } = await duly.cron.firings(often.id)
const firing = items.find(({ fireTime }) => fireTime.getTime() === at.getTime())
console.log(firing?.outcome)

for (const { id } of [daily, often]) await duly.cron.delete(id)
await worker.stop()
duly.close()
