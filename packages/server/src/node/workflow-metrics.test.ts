import { beforeAll, expect, test } from 'vitest'
import { type HttpNode, openStore, startHttpNode, until, type WireGrant } from '../dispatch/testing/http-node.js'

let node: HttpNode
beforeAll(async () => {
  node = await startHttpNode((await openStore()).url)
})

const linesOf = async (): Promise<readonly string[]> => (await (await fetch(`${node.url}/metrics`)).text()).split('\n')
const task = (task_id: string) => ({ task_id, task_type: 'work', queue: 'measured', max_retries: 0 })

test('workflows that run and have ended are measured by name, and so are dead letters by queue', async () => {
  const submit = (...names: string[]) =>
    node.api.call('POST', '/workflows', { workflow_name: 'measured', tasks: names.map(task) })
  await submit('good')
  await submit('bad')
  await submit('open', 'last')
  const worker = await node.api.worker({ queues: ['measured'], slots: 10 })
  const grants = (await worker.poll(10, { wait: 30 })) as readonly (WireGrant & { readonly node_name: string })[]
  const of = (...names: string[]) => grants.filter(({ node_name }) => names.includes(node_name))
  expect(of('good', 'bad', 'open', 'last')).toHaveLength(4)
  await worker.report(of('good', 'open'))
  const error = { class: 'Boom', message: 'it went wrong', retryable: true }
  await worker.report(of('bad'), { outcome: 'failed', error })
  const wanted = [
    'duly_workflows_finished_total{workflow="measured",outcome="succeeded"} 1',
    'duly_workflows_finished_total{workflow="measured",outcome="failed"} 1',
    'duly_workflow_seconds_count{workflow="measured"} 2',
    'duly_workflows_open 1',
    'duly_dead_letters{queue="measured"} 1',
  ]
  let lines: readonly string[] = []
  await until('all is told', async () => {
    lines = await linesOf()
    return wanted.every((line) => lines.includes(line))
  }).catch(() => {})
  expect(lines).toEqual(expect.arrayContaining(wanted))
  await worker.report(of('last'))
})
