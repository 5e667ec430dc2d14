import { expect, test } from 'vitest'
import { newTask } from '../../packages/server/src/testing/test-node.js'
import { Ledger } from './ledger.js'
import { openSharedNode } from './shared-node.js'
import { checkRefused, trailOf } from './trail.js'

const node = await openSharedNode()

/** What is found of a refused report of a task whose trail says this: transitions, by whom, and how many seconds after the task. */
async function foundOf(trail: readonly (readonly [transition: string, actor: string, second: number])[]) {
  const { id } = await node.parts.intake.submit(newTask())
  for (const [transition, actor, second] of trail) {
    await node.query(
      `insert into task_events (task_id, at, transition, attempt, actor, from_status, to_status)
       values ($1, now() + $2 * interval '1 second', $3, 1, $4, 'RUNNING', 'RUNNING')`,
      [id, second, transition, actor],
    )
  }
  const ledger = new Ledger()
  ledger.isRefused(id, { attempt: 1, token: 1n }, 'succeed')
  return (await checkRefused(node.client, ledger)).map(({ rule, subject }) => [rule, subject === id])
}

const unexplained = [['nobody took the lease away', true]]

test('a refused report is explained by nothing but the end of a time that was over', async () => {
  expect(await foundOf([])).toEqual(unexplained)
  const cancel = ['request_cancel', 'api', 0] as const
  expect(await foundOf([cancel])).toEqual(unexplained)
  expect(await foundOf([cancel, ['stop', 'watchdog', 4]])).toEqual(unexplained)
  expect(await foundOf([cancel, ['release', 'dispatcher', 6]])).toEqual(unexplained)
  expect(await foundOf([['time_out', 'watchdog', 70]])).toEqual(unexplained)
  expect(await foundOf([cancel, ['stop', 'watchdog', 6]])).toEqual([])
})

test('the trail of a task says how it stands and what became of it', async () => {
  const { id } = await node.parts.intake.submit(newTask())
  await node.parts.services.tasks.cancel(id, null, { kind: 'api', name: 'tester' })
  const trail = await trailOf(node.client, [id])
  expect(trail.filter((line) => line.includes(id))).toEqual([
    expect.stringContaining('outcomes: '),
    expect.stringContaining('task_events: '),
  ])
})
