import { encodeId, firstUuidAt } from '@duly/domain'
import { expect, it } from 'vitest'
import { writeJson } from './write-json.js'
import { grantedNodeOf } from './write-workflow.js'

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
