import { encodeLease, type Uuid } from '@duly/domain'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomOf } from '../../../../tests/chaos/load/random.js'
import type { TaskFilters } from '../model.js'
import { expectSound } from '../testing/facts.js'
import { reportOf, words } from '../testing/lives.js'
import { newTask, openTestNode, openTestStore, type TestNode } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store
let reader: TestNode
beforeAll(async () => {
  reader = await openTestNode(store.url, { number: 1 })
})
afterAll(async () => {
  await expectSound(node)
  await reader.close()
})

const actor = { kind: 'api' } as const
const none: TaskFilters = {
  ...{ status: null, taskType: null, queue: null, tenant: null, tag: null, workflowId: null, cronId: null },
  ...{ createdAfterMs: null, createdBeforeMs: null, correlationId: null },
}
const random = randomOf('crawl')
const submit = async (count: number, over: Parameters<typeof newTask>[0]): Promise<Uuid[]> =>
  (await node.intake.submitBatch(Array.from({ length: count }, () => newTask(over)))).map(({ id }) => id)

/** Tasks come and go until it is told to stop: what it started with leaves one table for another, and comes back. */
class Churn {
  count = 0
  #isOver = false
  readonly #done: Promise<unknown>

  constructor(delayed: readonly Uuid[], first: readonly Uuid[]) {
    this.#done = Promise.all([this.#flow(), this.#edit(delayed), this.#replay([...first])])
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#done
  }

  /** Some hundred are submitted, claimed and ended at a time. */
  async #flow(): Promise<void> {
    const worker = await node.worker({ queues: ['churn'] })
    while (!this.#isOver) {
      await submit(200, { queue: 'churn', maxRetries: 0 })
      const taken = await node.claim(worker, 200, { queue: 'churn' })
      const reports = taken.map((task) =>
        reportOf({ id: task.id, lease: encodeLease(task) }, random.pick([words.succeed, words.fail, words.release])),
      )
      await node.reports.report(worker, reports)
      this.count += taken.length
    }
  }

  async #edit(ids: readonly Uuid[]): Promise<void> {
    while (!this.#isOver) {
      const edit = { priority: random.pick([1, 2, 3] as const), scheduledAtMs: Date.now() + random.integer(1, 9) * 1e6 }
      await node.tasks.edit(random.pick(ids), null, { edit, actor })
    }
  }

  /** Ended, taken back, ended again. */
  async #replay(ids: Uuid[]): Promise<void> {
    while (!this.#isOver) {
      const id = random.pick(ids)
      await node.tasks.cancel(id, null, actor)
      await node.tasks.replay(id, null, actor)
    }
  }
}

test('a crawl meets each task that fits all the while exactly once, while others come, go, move and are edited', async () => {
  const delayed = await submit(300, { queue: 'still', delayMs: 3_600_000, tenant: 'other' })
  const [doomed, restless] = [await submit(300, { queue: 'doomed' }), await submit(300, { queue: 'restless' })]
  const worker = await node.worker({ queues: ['doomed'] })
  const taken = await node.claim(worker, 300, { queue: 'doomed' })
  await node.reports.report(
    worker,
    taken.map((task) => reportOf({ id: task.id, lease: encodeLease(task) }, words.fail)),
  )
  const lists: readonly [Partial<TaskFilters>, readonly Uuid[]][] = [
    [{}, [...delayed, ...doomed, ...restless]],
    [{ tenant: 'acme' }, [...doomed, ...restless]],
    [{ tenant: 'acme', queue: 'restless' }, restless],
    [{ status: 'FAILED' }, doomed],
    [{ status: 'SCHEDULED' }, delayed],
    [{ status: 'SCHEDULED', tenant: 'other' }, delayed],
    [{ taskType: 'work' }, [...delayed, ...doomed, ...restless]],
  ]
  const churn = new Churn(delayed, restless)
  const beganMs = performance.now()
  let crawls = 0
  while (performance.now() - beganMs < 4_000) {
    for (const [filters, wanted] of lists) {
      const seen: Uuid[] = []
      for (let after: string | null = null; ; ) {
        const page = await reader.tasks.list({ ...none, ...filters }, null, { limit: random.integer(40, 400), after })
        seen.push(...page.items.map(({ id }) => id))
        if (page.next === null) break
        after = page.next
      }
      const stable = new Set(wanted)
      expect(seen, JSON.stringify(filters)).toEqual([...new Set(seen)].sort().reverse())
      expect(seen.filter((id) => stable.has(id)).length, JSON.stringify(filters)).toBe(wanted.length)
      crawls += 1
    }
  }
  await churn.stop()
  const perSecond = churn.count / ((performance.now() - beganMs) / 1_000)
  console.info(`${crawls} crawls while ${Math.round(perSecond)} tasks/s came and went`)
  expect(crawls).toBeGreaterThanOrEqual(lists.length)
  expect(churn.count).toBeGreaterThan(0)
})
