import type { Uuid } from '@duly/domain'
import { beforeEach, expect, test } from 'vitest'
import { expectSound } from '../testing/facts.js'
import { defaultLane, newTask, openTestStore } from '../testing/test-node.js'

const { node } = await openTestStore()

const tenants = ['a', 'b', 'c']
beforeEach(async () => {
  await node.query('truncate open_tasks, tasks, counters')
  for (const tenant of tenants) await node.intake.submit(newTask({ tenant }))
  await node.query(`update open_tasks set gate = '!suspect', undelivered = 1`)
  await node.query(`update counters set gate = '!suspect'`)
})

/** Asks for one suspect of each tenant's lane, each for the session named beside it. */
const take = async (wanted: readonly (readonly [tenant: string, session: Uuid])[]) => {
  const takes = wanted.map(([tenant, session]) => ({
    ...{ lane: { ...defaultLane, tenant, gate: '!suspect' }, sessions: [session] },
    fromMs: 0,
  }))
  return (await node.stores.queue.take({ takes, taskTypes: null, token: 1n })).tasks
}

test('a session gets one suspect of one claim, whatever the number of lanes that have one', async () => {
  const [first, second] = await Promise.all([node.worker(), node.worker()])
  const [one, two] = [first.row.id, second.row.id]
  const taken = await take([
    ['a', one],
    ['b', one],
    ['c', two],
  ])
  expect(taken.map(({ tenant, session }) => [tenant, session]).sort()).toEqual([
    ['a', one],
    ['c', two],
  ])
  expect(
    await take([
      ['b', one],
      ['b', two],
    ]),
  ).toEqual([])
  expect(await take([['b', (await node.worker()).row.id]])).toHaveLength(1)
  await expectSound(node, /suspect|counters/)
})

test('other lanes of the claim are not concerned', async () => {
  await node.intake.submit(newTask({ tenant: 'd' }))
  const { id } = (await node.worker()).row
  const [suspect, plain] = [
    { ...defaultLane, tenant: 'a', gate: '!suspect' },
    { ...defaultLane, tenant: 'd' },
  ]
  const takes = [plain, suspect, { ...plain, tenant: 'none' }].map((lane) => ({ lane, sessions: [id], fromMs: 0 }))
  const { tasks: taken } = await node.stores.queue.take({ takes, taskTypes: null, token: 1n })
  expect(taken.map(({ tenant }) => tenant).sort()).toEqual(['a', 'd'])
})
