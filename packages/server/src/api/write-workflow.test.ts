import { encodeId, firstUuidAt } from '@duly/domain'
import { expect, it } from 'vitest'
import type { WorkflowNodeRecord, WorkflowRecord } from '../model.js'
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

it('writes a large graph in turns with others, and every task of it', async () => {
  const node: WorkflowNodeRecord = {
    ...{ name: 'n', id: workflowId, taskType: 't', queue: 'q', status: 'PENDING', triggerRule: 'all_succeeded' },
    ...{ dependencies: ['a', 'b'], createdAtMs: 0, startedAtMs: null, completedAtMs: null, dueAtMs: null, attempts: 0 },
    ...{ failures: 0, reason: null, error: null, addedBy: null },
  }
  const workflow: WorkflowRecord = {
    ...{ id: workflowId, name: 'w', status: 'RUNNING', tenant: 'acme', createdAtMs: 0, scheduledAtMs: null },
    ...{ completedAtMs: null, cancelRequested: false, failurePolicy: 'fail_dependents', nodes: 10_000, open: 10_000 },
    ...{ failed: 0, metadata: null, idempotencyKey: null, run: 1, criticalPath: { nodes: [], durationMs: null } },
    graph: Array.from({ length: 10_000 }, () => node),
  }
  let turns = 0
  let isWritten = false
  const others = (): void => {
    turns++
    if (!isWritten) setImmediate(others)
  }
  setImmediate(others)
  const text = await writeWorkflow(workflow)
  isWritten = true
  expect(turns).toBeGreaterThan(10)
  expect(JSON.parse(text).graph).toHaveLength(10_000)
})
