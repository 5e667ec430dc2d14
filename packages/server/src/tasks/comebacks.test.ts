import { encodeLease } from '@duly/domain'
import { expect, test } from 'vitest'
import { type Life, mark, passDeadline, passDue, say, silence, watch, words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const { node } = await openTestStore()

const urgent = 1

/** Every way in which a running task comes to wait again. */
const ways: Readonly<Record<string, (life: Life) => Promise<unknown>>> = {
  'given back': (life) => say(node, life, words.release),
  'retried after an error': (life) => say(node, life, words.retry),
  'retried after its time limit': async (life) => {
    await passDeadline(node, life.id)
    await watch(node)
  },
  snoozed: (life) => say(node, life, words.snooze),
  'lost with its worker': async (life) => {
    await silence(node, life.worker)
    await watch(node)
  },
  'replayed after its end': async (life) => {
    await say(node, life, words.fail)
    await node.tasks.replay(life.id, null, { kind: 'api', name: 'tester' })
  },
  'replayed after it was cancelled': async (life) => {
    await mark(node, life.id)
    await say(node, life, words.stop)
    await node.tasks.replay(life.id, null, { kind: 'api', name: 'tester' })
  },
}

test.each(Object.keys(ways))('a task keeps its priority, queue and tenant when it is %s', async (way) => {
  const life = await startUrgent()
  await ways[way]?.(life)
  await passDue(node, life.id)
  const [row] = await node.query('select queue, priority, tenant from open_tasks where id = $1', [life.id])
  expect(row).toEqual({ queue: life.queue, priority: urgent, tenant: 'acme' })
})

let queues = 0

async function startUrgent(): Promise<Life> {
  const queue = `urgent-${queues++}`
  const { id } = await node.intake.submit(newTask({ queue, priority: urgent }))
  const worker = await node.worker({ queues: [queue] })
  const [task] = await node.claim(worker, 1, { queue, priority: urgent })
  if (task?.id !== id) throw new Error(`the claim gave ${task?.id} in place of ${id}`)
  return { id, queue, worker, lease: encodeLease(task) }
}
