import { afterAll, expect, test } from 'vitest'
import type { RunRecord } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { claimLife, error, type Life, say, startLife, words } from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const { node } = await openTestStore()
afterAll(() => expectSound(node))

const actor = { kind: 'api', name: 'tester' } as const
const replay = ({ id }: Pick<Life, 'id'>) => node.tasks.replay(id, null, actor)
const all = { after: null, limit: 100 } as const
const runsOf = async ({ id }: Pick<Life, 'id'>): Promise<readonly RunRecord[]> => {
  return (await node.tasks.runs(id, null, all)).items
}

/** FAILED, then CANCELLED while it waited, then FAILED again, then replayed and waiting. */
async function livedFourTimes(): Promise<Life> {
  const first = await startLife(node)
  await say(node, first, words.fail)
  await replay(first)
  await node.tasks.cancel(first.id, null, actor)
  await replay(first)
  await say(node, await claimLife(node, first), words.fail)
  await replay(first)
  return first
}

test('a task that was never replayed has the one run, while it waits, runs and when it has ended', async () => {
  const queue = 'runs-one'
  const { id } = await node.intake.submit(newTask({ queue }))
  expect(await runsOf({ id })).toMatchObject([{ run: 1, status: 'PENDING', startedAtMs: null, replayedAtMs: null }])
  const life = await claimLife(node, { id, queue })
  expect(await runsOf(life)).toMatchObject([{ run: 1, status: 'RUNNING', lastAttempt: 1, completedAtMs: null }])
  await say(node, life, words.succeed)
  expect(await runsOf(life)).toMatchObject([{ run: 1, status: 'SUCCEEDED', lastAttempt: 1, error: null }])
})

test('several replays leave each run as it ended, newest first', async () => {
  const life = await livedFourTimes()
  const runs = await runsOf(life)
  expect(runs).toMatchObject([
    { run: 4, status: 'PENDING', lastAttempt: 2, completedAtMs: null, replayedAtMs: null },
    { run: 3, status: 'FAILED', lastAttempt: 2, error },
    { run: 2, status: 'CANCELLED', lastAttempt: 1, startedAtMs: null, workerId: null },
    { run: 1, status: 'FAILED', lastAttempt: 1, workerId: life.worker.row.id, error },
  ])
  expect(runs[1]?.workerId).not.toBe(life.worker.row.id)
  for (const run of runs.slice(1)) expect(run.completedAtMs).toBeLessThanOrEqual(run.replayedAtMs ?? Number.NaN)
  const ends = runs.slice(1).map(({ completedAtMs }) => completedAtMs)
  expect(ends).toEqual(ends.toSorted((a, b) => Number(b) - Number(a)))
})

test('they are paged one by one, and a replay meanwhile repeats and hides none of the older', async () => {
  const life = await livedFourTimes()
  const seen: number[] = []
  for (let after: string | null = null; ; ) {
    const page = await node.tasks.runs(life.id, null, { after, limit: 1 })
    expect(page.items).toHaveLength(1)
    seen.push(...page.items.map(({ run }) => run))
    if (seen.length === 1) {
      await node.tasks.cancel(life.id, null, actor)
      await replay(life)
    }
    if (page.next === null) break
    after = page.next
  }
  expect(seen).toEqual([4, 3, 2, 1])
  expect((await runsOf(life)).map(({ run }) => run)).toEqual([5, 4, 3, 2, 1])
})

test("of another tenant's task there are none to be seen", async () => {
  const life = await livedFourTimes()
  await expect(node.tasks.runs(life.id, 'other', all)).rejects.toMatchObject({ code: 'not_found' })
  expect((await node.tasks.runs(life.id, 'acme', all)).items).toHaveLength(4)
})
