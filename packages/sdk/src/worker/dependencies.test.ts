import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { problem } from '../testing/scripted-server.js'
import { WorkerBench } from '../testing/worker-bench.js'
import type { TaskContext } from './task-context.js'
import type { WireGrant } from './wire.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

const statusesOf = (...names: string[]) => Object.fromEntries(names.map((name) => [name, 'SUCCEEDED' as const]))
const inWorkflow = { workflow_id: 'wf-1', node_name: 'join' }

/** Runs a handler that does `work`, and gives its result. */
async function run(work: (context: TaskContext) => unknown, grant: Partial<WireGrant>): Promise<unknown> {
  await bench
    .worker()
    .handle('work', (_, context) => work(context))
    .start()
  const report = await bench.broker.outcome(bench.broker.push('work', null, { ...inWorkflow, ...grant }))
  return report.outcome === 'succeeded' ? report.result : report.error
}

/** Answers calls for results with at most `most` of them each. */
function serveResults(most: number): void {
  bench.broker.intercept = ({ path, body }) => {
    if (!path.endsWith('/dependency-results')) return undefined
    const names = body.names as string[]
    const given = names.slice(0, most).map((name) => [name, { of: name }])
    return { body: { results: Object.fromEntries(given), omitted: names.slice(most) } }
  }
}

const fetches = () => bench.broker.server.callsTo('/dependency-results').map(({ body }) => body.names as string[])

describe('results of dependencies', () => {
  it('come along with the task, and are fetched when they were too large', async () => {
    serveResults(100)
    const found = await run(
      async ({ dependencies, dependencyResults, nodeName, workflowId }) => ({
        here: await dependencies.result('a'),
        far: await Promise.all([dependencies.result('b'), dependencies.result('c')]),
        raw: dependencyResults,
        of: [workflowId, nodeName],
      }),
      {
        dependency_results: { a: 1 },
        dependency_results_omitted: ['b', 'c'],
        dependency_statuses: statusesOf('a', 'b', 'c'),
      },
    )
    expect(found).toEqual({ here: 1, far: [{ of: 'b' }, { of: 'c' }], raw: { a: 1 }, of: ['wf-1', 'join'] })
    expect(fetches()).toEqual([['b', 'c']])
    expect(bench.broker.server.callsTo('/dependency-results')[0]?.body).toMatchObject({
      task_id: 'task-1',
      lease: 'lease-1',
    })
  })

  it('are asked for a hundred at a time, and again when an answer was full', async () => {
    serveResults(40)
    const names = Array.from({ length: 150 }, (_, n) => `n${n}`)
    const found = await run(
      async ({ dependencies }) => (await Promise.all(names.map((name) => dependencies.result(name)))).length,
      { dependency_statuses: statusesOf(...names) },
    )
    expect(found).toBe(150)
    expect(fetches().map((asked) => asked.length)).toEqual([100, 100, 70, 30])
  })

  it('are gone through some at a time, those that succeeded', async () => {
    serveResults(100)
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`)
    const found = await run(
      async ({ dependencies }) => {
        const seen: string[] = []
        for await (const [name, result] of dependencies.results()) seen.push(`${name} ${JSON.stringify(result)}`)
        return seen
      },
      { dependency_results: { n0: 7 }, dependency_statuses: { ...statusesOf(...names), dead: 'DEAD' } },
    )
    expect(found).toEqual(names.map((name, n) => (n === 0 ? 'n0 7' : `${name} {"of":"${name}"}`)))
    expect(fetches().map((asked) => asked.length)).toEqual([15, 4])
  })

  it('are fetched through an outage', async () => {
    let failures = 2
    bench.broker.intercept = ({ path }) => {
      if (!path.endsWith('/dependency-results')) return undefined
      failures -= 1
      return failures >= 0 ? problem(503, 'store_unavailable') : { body: { results: { a: 5 }, omitted: [] } }
    }
    const found = await run(({ dependencies }) => dependencies.result('a'), { dependency_statuses: statusesOf('a') })
    expect(found).toBe(5)
    expect(fetches()).toHaveLength(3)
  })

  it('end the attempt when its lease is lost', async () => {
    bench.broker.intercept = ({ path }) =>
      path.endsWith('/dependency-results') ? problem(409, 'lease_lost') : undefined
    const error = await run(({ dependencies }) => dependencies.result('a'), { dependency_statuses: statusesOf('a') })
    expect(error).toMatchObject({ class: 'LeaseLostError' })
  })

  it('do not exist of a dependency that failed, has not ended, or is none', async () => {
    const errors = await run(
      async ({ dependencies }) => {
        const tries = [dependencies.result('dead'), dependencies.result('nobody')]
        return (await Promise.allSettled(tries)).map((each) => String((each as PromiseRejectedResult).reason))
      },
      { dependency_statuses: { ok: 'SUCCEEDED', dead: 'DEAD' }, dependency_results: { ok: 1 } },
    )
    expect(errors).toEqual([
      'NoResultError: dead has no result: it ended DEAD',
      'RangeError: "nobody" is none of the dependencies that have ended; they are ok, dead',
    ])
  })

  it('are decoded by the definition that the task declares, or the one that is given', async () => {
    const numeric: StandardSchema<string, number> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => (value === 'x' ? { issues: [{ message: 'no number' }] } : { value: Number(value) }),
      },
    }
    const count = defineTask('count', { result: numeric })
    const sum = defineTask('sum', { payload: type<null>(), dependencies: { a: count } })
    await bench
      .worker()
      .handle(sum, async (_, { dependencies }) => {
        const declared = (await dependencies.result('a')) + 1
        const given = (await dependencies.result('b', count)) + 1
        const wrong = await dependencies.result('c', count).catch((error: unknown) => String(error))
        const all: unknown[] = []
        for await (const [, n] of dependencies.results()) all.push(n)
        return { declared, given, wrong, all }
      })
      .start()
    const results = { a: '1', b: '2', c: 'x' }
    const grant = { ...inWorkflow, dependency_results: results, dependency_statuses: statusesOf('a', 'b', 'c') }
    expect((await bench.broker.outcome(bench.broker.push('sum', null, grant))).result).toEqual({
      ...{ declared: 2, given: 3, all: ['1', '2', 'x'] },
      wrong: 'InvalidResultError: the result of count does not fit its schema: no number',
    })
  })
})

describe('addTasks', () => {
  const addTwo = async (context: TaskContext) => [
    ...(await context.addTasks((graph) => {
      const a = graph.task('a', 'part', 1)
      graph.task('b', 'join', null, { after: [a, 'elsewhere'] })
    })),
  ]

  it('sends the tasks with the lease, and tells where they stand', async () => {
    bench.broker.intercept = ({ path }) =>
      path === '/api/v1/workflows/wf-1/tasks'
        ? { status: 202, body: { workflow_id: 'wf-1', tasks: { a: 'BLOCKED' }, task_ids: { a: 'task-a' } } }
        : undefined
    const traceparent = '00-abc-def-01'
    expect(await run(addTwo, { traceparent })).toEqual([['a', { id: 'task-a', status: 'BLOCKED', isReplay: false }]])
    const [call] = bench.broker.server.callsTo('/workflows/wf-1/tasks')
    expect(call?.headers.traceparent).toBe(traceparent)
    expect(call?.body).toEqual({
      ...{ task_id: 'task-1', lease: 'lease-1' },
      tasks: [
        { task_id: 'a', task_type: 'part', payload: 1 },
        { task_id: 'b', task_type: 'join', payload: null, dependencies: ['a', 'elsewhere'] },
      ],
    })
  })

  it('sends nothing when nothing is added', async () => {
    expect(await run(async (context) => (await context.addTasks(() => {})).size, {})).toBe(0)
    expect(bench.broker.server.callsTo('/tasks')).toEqual([])
  })

  it('says that it takes a function', async () => {
    const error = await run((context) => context.addTasks([{ task_id: 'a' }] as never), {})
    expect(error).toMatchObject({ message: expect.stringContaining('addTasks: give a function') })
  })

  it('says when the lease is lost, and when there is no workflow', async () => {
    bench.broker.intercept = ({ path }) => (path.endsWith('/tasks') ? problem(409, 'lease_lost') : undefined)
    expect(await run(addTwo, {})).toMatchObject({ class: 'LeaseLostError' })
    const report = await bench.broker.outcome(bench.broker.push('work'))
    expect(report.error).toMatchObject({ message: expect.stringContaining('none of a workflow') })
  })
})
