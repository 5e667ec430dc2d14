// Find tasks that wait and edit them, page by page. Run: node examples/guide/lists.mjs
import { Duly } from '@duly/sdk'

const duly = new Duly()

for (const to of ['a', 'b', 'c']) {
  await duly.submit('send_letter', { to }, { queue: 'guide-lists', delay: '1h' })
}

for await (const task of duly.tasks.all({ queue: 'guide-lists', status: 'SCHEDULED' })) {
  await duly.tasks.edit(task.id, { priority: 'high', scheduledAt: null })
}

const { items } = await duly.tasks.list({ queue: 'guide-lists', status: 'PENDING' }, { limit: 100 })
for (const { taskType, priority } of items) console.log(taskType, priority)

for (const { id } of items) await duly.tasks.cancel(id)
duly.close()
