import { beforeAll, expect, test } from 'vitest'
import { type HttpNode, openStore, startHttpNode, type WireGrant } from '../dispatch/testing/http-node.js'

let node: HttpNode
beforeAll(async () => {
  node = await startHttpNode((await openStore()).url)
})

const soon = { max_retries: 3, retry_backoff: 'fixed', retry_jitter: 'none', retry_delay_seconds: 0 }
/** A join within the body of a join; the first one waits for a task that fails twice. */
const nodes = {
  ...{ a: [], b: [], join: ['a', 'b'] },
  ...{ c: ['join'], d: ['join'], last: ['c', 'd'] },
} as const
const results: Readonly<Record<string, unknown>> = { a: 7, b: 1, join: 'joined', c: 2, d: 3, last: 'done' }

type NodeGrant = WireGrant & {
  readonly node_name: keyof typeof nodes
  readonly dependency_results: Readonly<Record<string, unknown>>
}

test('a join of a task that fails twice waits for its third attempt, runs once, and is given the results of all', async () => {
  const tasks = Object.entries(nodes).map(([task_id, dependencies]) => ({
    ...{ task_id, task_type: 'work', queue: 'retried', dependencies, ...soon },
  }))
  const { body } = await node.api.call<{ workflow_id: string }>('POST', '/workflows', {
    workflow_name: 'retried',
    tasks,
  })
  const standing = async (): Promise<Record<string, string>> => {
    const { graph } = (
      await node.api.call<{ graph: { node_name: string; status: string }[] }>('GET', `/workflows/${body.workflow_id}`)
    ).body
    return Object.fromEntries(graph.map(({ node_name, status }) => [node_name, status]))
  }
  const worker = await node.api.worker({ queues: ['retried'], slots: 10 })
  const given: [string, number, Readonly<Record<string, unknown>>][] = []
  while (given.at(-1)?.[0] !== 'last') {
    for (const grant of (await worker.poll(10, { wait: 30 })) as readonly NodeGrant[]) {
      const { node_name: name, attempt, dependency_results: inputs } = grant
      given.push([name, attempt, inputs])
      const fails = name === 'a' && attempt < 3
      const error = { class: 'Flaky', message: 'not yet', retryable: true }
      await worker.report(
        [grant],
        fails ? { outcome: 'failed', error } : { outcome: 'succeeded', result: results[name] },
      )
      if (fails)
        expect(await standing()).toMatchObject({ a: expect.stringMatching(/RETRYING|PENDING/), join: 'BLOCKED' })
    }
  }
  expect(given.filter(([name]) => name === 'a').map(([, attempt]) => attempt)).toEqual([1, 2, 3])
  expect(given.filter(([name]) => name === 'join')).toEqual([['join', 1, { a: 7, b: 1 }]])
  expect(given.filter(([name]) => name === 'last')).toEqual([['last', 1, { c: 2, d: 3 }]])
  expect(Object.values(await standing()).filter((status) => status !== 'SUCCEEDED')).toEqual([])
})
