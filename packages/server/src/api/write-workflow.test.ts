import { encodeId, firstUuidAt } from '@duly/domain'
import { expect, it } from 'vitest'
import type { WorkflowHead, WorkflowNodeRecord } from '../model.js'
import { writeJson } from './write-json.js'
import { grantedNodeOf, writeWorkflow } from './write-workflow.js'

const workflowId = firstUuidAt(0)

it('says of a task that is none of a workflow only that there are no results', () => {
  expect(writeJson(grantedNodeOf(undefined))).toBe('{"dependency_results":{}}')
})

it('says of a node how its dependencies ended, with the results that come along as they were written', () => {
  const dependencies = [
    { name: 'b', status: 'SUCCEEDED', result: '{"n":1.0}', isOmitted: false },
    { name: '1', status: 'SUCCEEDED', result: null, isOmitted: true },
    { name: '__proto__', status: 'DEAD', result: null, isOmitted: false },
  ] as const
  expect(writeJson(grantedNodeOf({ workflowId, name: 'join', dependencies }))).toBe(
    `{"dependency_results":{"b":{"n":1.0},"__proto__":null},"dependency_results_omitted":["1"],` +
      `"dependency_statuses":{"b":"SUCCEEDED","1":"SUCCEEDED","__proto__":"DEAD"},` +
      `"workflow_id":"${encodeId('wf', workflowId)}","node_name":"join"}`,
  )
})

const head: WorkflowHead = {
  ...{ id: workflowId, name: 'w', status: 'RUNNING', tenant: 'acme', createdAtMs: 0, scheduledAtMs: null },
  ...{ completedAtMs: null, cancelRequested: false, failurePolicy: 'fail_dependents', nodes: 10_000, open: 10_000 },
  ...{ failed: 0, metadata: '{"n":1.0}', idempotencyKey: null, run: 1 },
}

const node: WorkflowNodeRecord = {
  ...{ name: 'n', id: workflowId, taskType: 't', queue: 'q', status: 'PENDING', triggerRule: 'all_succeeded' },
  ...{ dependencies: [], createdAtMs: 0, startedAtMs: null, completedAtMs: null, dueAtMs: null, attempts: 0 },
  ...{ failures: 0, reason: null, error: null, addedBy: null },
}

const written = async (parts: readonly (readonly WorkflowNodeRecord[])[]): Promise<string> => {
  async function* all() {
    yield* parts
  }
  const criticalPath = () => ({ nodes: ['n'], durationMs: 1.4 })
  return (await writeWorkflow({ workflow: head, parts: all(), criticalPath })).toString('utf8')
}

it('writes every field of a node, and texts of others with their escapes', async () => {
  const error = { class: 'E"', message: 'line\n\u0001 ü 漢', stack: 'not told' }
  const times = { createdAtMs: 1, dueAtMs: 2, startedAtMs: 3, completedAtMs: 4 }
  const told = {
    ...node,
    ...times,
    dependencies: ['a', 'b'],
    attempts: 2,
    failures: 1,
    reason: '"x"',
    error,
    addedBy: 'a',
  }
  const text = await written([[told]])
  const instant = (ms: number) => new Date(ms).toISOString()
  expect(JSON.parse(text).graph).toEqual([
    {
      ...{ node_name: 'n', task_id: encodeId('task', workflowId), task_type: 't', queue: 'q', status: 'PENDING' },
      ...{ trigger_rule: 'all_succeeded', dependencies: ['a', 'b'], created_at: instant(1), due_at: instant(2) },
      ...{ started_at: instant(3), completed_at: instant(4), attempts: 2, failures: 1, reason: '"x"' },
      ...{ error: { class: 'E"', message: 'line\n\u0001 ü 漢' }, added_by: 'a' },
    },
  ])
  expect(text).toContain('"metadata":{"n":1.0}')
  expect(text).toMatch(/"critical_path":\{"nodes":\["n"\],"duration_ms":1\}\}$/)
})

it.each([
  ['no part', []],
  ['empty parts', [[], [node], [], []]],
  ['several parts', [[node, node], [], [node]]],
])('writes a graph of %s', async (_, parts: WorkflowNodeRecord[][]) => {
  const { graph } = JSON.parse(await written(parts))
  expect(graph).toHaveLength(parts.flat().length)
})
