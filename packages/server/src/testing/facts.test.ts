import { expect, test } from 'vitest'
import { expectSound } from './facts.js'
import { newTask, openTestStore } from './test-node.js'

const store = await openTestStore()

test('a store that is not sound is told, by rule and row', async () => {
  const { node } = store
  const { id } = await node.intake.submit(newTask())
  await expectSound(node)
  await node.query('update counters set depth = depth + 1')
  await expect(expectSound(node)).rejects.toMatchObject({
    actual: [{ rule: 'the counters are the waiting tasks of each lane', detail: '2 counted, 1 waiting' }],
  })
  await expectSound(node, /open or finished/)
  await node.query('delete from open_tasks where id = $1', [id])
  await expect(expectSound(node, /open or finished/)).rejects.toMatchObject({ actual: [{ subject: id }] })
})
