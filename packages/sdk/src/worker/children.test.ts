import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type } from '../standard-schema.js'
import { type Call, problem, type Reply } from '../testing/scripted-server.js'
import { WorkerBench } from '../testing/worker-bench.js'
import type { TaskContext } from './task-context.js'
import type { WireGrant } from './wire.js'

interface WireChild {
  readonly task_id: string
  readonly payload?: unknown
}

/** A workflow as its server keeps it: the bodies of added tasks by their names. */
class Nodes {
  readonly byName = new Map<string, string>()

  add({ body }: Call): Reply {
    const children = body.tasks as readonly WireChild[]
    const errors = children.flatMap((child, place) => {
      const known = this.byName.get(child.task_id)
      if (child.payload === 'bad') return [{ path: `tasks[${place}].payload`, message: 'is bad' }]
      if (known === undefined || known === JSON.stringify(child)) return []
      return [{ path: `tasks[${place}].task_id`, message: `"${child.task_id}" is another task` }]
    })
    if (errors.length > 0) {
      const refusal = problem(409, 'idempotency_conflict')
      return { ...refusal, body: { ...(refusal.body as object), errors } }
    }
    const replayed = children.map(({ task_id }) => task_id).filter((name) => this.byName.has(name))
    for (const child of children) this.byName.set(child.task_id, JSON.stringify(child))
    const of = (value: (name: string) => string) =>
      Object.fromEntries(children.map(({ task_id: name }) => [name, value(name)]))
    const told = { tasks: of(() => 'PENDING'), task_ids: of((name) => `task-of-${name}`) }
    return { status: 202, body: { workflow_id: 'wf-1', ...told, replayed } }
  }
}

let bench: WorkerBench
let nodes: Nodes
beforeEach(async () => {
  bench = await WorkerBench.open()
  nodes = new Nodes()
  bench.broker.intercept = (call) => (call.path === '/api/v1/workflows/wf-1/tasks' ? nodes.add(call) : undefined)
})
afterEach(() => bench.close())

/** Runs a handler once, as another attempt of the same task of a workflow. */
async function run(work: (context: TaskContext) => unknown, more: Partial<WireGrant> = {}) {
  const worker = bench.worker().handle('work', (_, context) => work(context))
  await worker.start()
  const grant = { workflow_id: 'wf-1', node_name: 'split', ...more }
  const report = await bench.broker.outcome(bench.broker.push('work', null, grant))
  await worker.stop()
  return report
}

const calls = () => bench.broker.server.callsTo('/workflows/wf-1/tasks')
const names = () => [...nodes.byName.keys()]

describe('a child of a task of a workflow', () => {
  it('is a task of the workflow that waits for nobody, in the trace and under the lease', async () => {
    const render = defineTask('render', { payload: type<{ page: number }>(), queue: 'pages', timeout: '20s' })
    const report = await run(
      async (context) => {
        const { id, receipt, isReplay } = await context.submit(render, { page: 1 }, { delay: '5s' })
        return { id, status: receipt.status, isReplay }
      },
      { traceparent: '00-abc-def-01', tenant_id: 'acme', metadata: { tenant_id: 'acme' } },
    )
    const [name] = names()
    expect(name).toMatch(/^split\/render-[0-9a-f]{12}$/)
    expect(report.result).toEqual({ id: `task-of-${name}`, status: 'PENDING', isReplay: false })
    expect(calls()[0]?.headers.traceparent).toBe('00-abc-def-01')
    const settings = { queue: 'pages', delay_seconds: 5, timeout_seconds: 20 }
    expect(calls()[0]?.body).toEqual({
      ...{ task_id: 'task-1', lease: 'lease-1' },
      tasks: [{ task_id: name, task_type: 'render', payload: { page: 1 }, ...settings, waits_for_adder: false }],
    })
  })

  it('is there once, in whatever order a later attempt submits; what it asks for otherwise is another one', async () => {
    const submit = (...payloads: unknown[]) =>
      run(async ({ submit }) => {
        const handles = await Promise.all(payloads.map((payload) => submit('part', payload)))
        return handles.map(({ id, isReplay }) => [id, isReplay])
      })
    const told = async (...payloads: unknown[]) => (await submit(...payloads)).result as [string, boolean][]
    const [a, b, again] = (await told({ n: 1 }, { n: 2 }, { n: 1 })).map(([id]) => id)
    expect(new Set([a, b, again]).size).toBe(3)
    expect(again).toBe(`${a}-2`)
    expect(await told({ n: 2 }, { n: 1 })).toEqual([
      [b, true],
      [a, true],
    ])
    expect(await told({ n: 3 })).toEqual([[expect.stringContaining('split/part-'), false]])
    expect(names()).toHaveLength(4)
  })

  it('has the name that it is given; what is not the same under that name is refused', async () => {
    const named = (payload: unknown) =>
      run(({ submit }) => submit('part', payload, { name: 'cover' }).then(({ id }) => id))
    expect((await named(1)).result).toBe('task-of-cover')
    expect((await named(1)).result).toBe('task-of-cover')
    expect((await named(2)).error).toMatchObject({ message: 'task_id "cover" is another task' })
  })

  it('has a name of its own however long the others are', async () => {
    const long = { node_name: `${'n'.repeat(120)}/part` }
    await run(({ submit }) => Promise.all([submit('t'.repeat(128), 1), submit('x', 1)]).then(() => null), long)
    await run(({ submit }) => submit('x', 1).then(() => null), { node_name: `${'n'.repeat(120)}/other` })
    expect(names()).toHaveLength(3)
    for (const name of names()) expect(name).toMatch(/^[A-Za-z0-9._:/-]{1,128}$/)
  })

  it('with a key is a task by itself, in the tenant', async () => {
    const plain = bench.broker.intercept
    bench.broker.intercept = (call) =>
      call.path === '/api/v1/tasks' ? { status: 202, body: { task_id: 'task-x', status: 'PENDING' } } : plain(call)
    const work = ({ submit, idempotencyKey }: TaskContext) =>
      submit('part', 1, { idempotencyKey: `${idempotencyKey}/part` }).then(({ id }) => id)
    expect((await run(work, { tenant_id: 'acme', idempotency_key: 'k' })).result).toBe('task-x')
    expect(bench.broker.server.callsTo('/api/v1/tasks')[0]?.body).toEqual({
      ...{ task_type: 'part', payload: 1, idempotency_key: 'k/part', metadata: { tenant_id: 'acme' } },
    })
    const both = await run(({ submit }) => submit('part', 1, { idempotencyKey: 'k', name: 'n' }))
    expect(both.error).toMatchObject({ class: 'TypeError', message: expect.stringContaining('give one of them') })
  })
})

it('a name outside of a workflow is a key of the submitting task', async () => {
  bench.broker.intercept = ({ path }) =>
    path === '/api/v1/tasks' ? { status: 202, body: { task_id: 'task-x', status: 'PENDING' } } : undefined
  await bench
    .worker()
    .handle('alone', (_, { submit }) => submit('part', 1, { name: 'cover' }).then(({ id }) => id))
    .start()
  const id = bench.broker.push('alone', null, { tenant_id: 'default' })
  expect((await bench.broker.outcome(id)).result).toBe('task-x')
  expect(bench.broker.server.callsTo('/api/v1/tasks')[0]?.body).toEqual({
    ...{ task_type: 'part', payload: 1, idempotency_key: `${id}/cover` },
  })
})

describe('many children', () => {
  it('travel together, those of one turn at once', async () => {
    const report = await run(async ({ submit }) => {
      const handles = await Promise.all(Array.from({ length: 1_200 }, (_, n) => submit('part', n)))
      return new Set(handles.map(({ id }) => id)).size
    })
    expect(report.result).toBe(1_200)
    expect(calls().map(({ body }) => (body.tasks as unknown[]).length)).toEqual([500, 500, 200])
  })

  it('are refused one by one: the others are there', async () => {
    const report = await run(async ({ submit }) => {
      const tries = [1, 'bad', 2, 'bad'].map((payload) => submit('part', payload))
      return (await Promise.allSettled(tries)).map((each) =>
        each.status === 'fulfilled' ? 'there' : `${each.reason.code} ${each.reason.message}`,
      )
    })
    const refused = 'idempotency_conflict payload is bad'
    expect(report.result).toEqual(['there', refused, 'there', refused])
    expect(calls()).toHaveLength(2)
  })

  it('of one name are submitted one after the other', async () => {
    const report = await run(async ({ submit }) => {
      const tries = [1, 1, 2].map((payload) => submit('part', payload, { name: 'cover' }))
      return (await Promise.allSettled(tries)).map((each) =>
        each.status === 'fulfilled' ? each.value.isReplay : each.reason.code,
      )
    })
    expect(report.result).toEqual([false, true, 'idempotency_conflict'])
  })

  it('fail together when the workflow takes no more, and a second try has the names of the first', async () => {
    let isFull = true
    bench.broker.intercept = (call) => {
      if (!call.path.endsWith('/wf-1/tasks')) return undefined
      const refusal = problem(400, 'invalid_request')
      const errors = [{ path: 'tasks', message: 'a workflow has at most 10000 tasks' }]
      return isFull ? { ...refusal, body: { ...(refusal.body as object), errors } } : nodes.add(call)
    }
    const report = await run(async ({ submit }) => {
      const both = () => Promise.allSettled([submit('part', 1), submit('part', 1)])
      const first = await both()
      isFull = false
      const second = await both()
      return [...first, ...second].map((each) =>
        each.status === 'fulfilled' ? 'there' : String(each.reason.errors[0].path),
      )
    })
    expect(report.result).toEqual(['tasks', 'tasks', 'there', 'there'])
    expect(
      names()
        .map((name) => name.replace(/-[0-9a-f]{12}/, ''))
        .sort(),
    ).toEqual(['split/part', 'split/part-2'])
  })

  it('are let go of by a signal, which the others go on without', async () => {
    const report = await run(async ({ submit }) => {
      const control = new AbortController()
      const tries = [submit('part', 1, { signal: control.signal }), submit('part', 2)]
      setImmediate(() => control.abort(new Error('no longer wanted')))
      return (await Promise.allSettled(tries)).map((each) =>
        each.status === 'fulfilled' ? 'there' : each.reason.message,
      )
    })
    expect(report.result).toEqual(['no longer wanted', 'there'])
  })

  it('of other traces go by calls of their own', async () => {
    await run(
      async ({ submit }) => {
        await Promise.all([submit('part', 1), submit('part', 2, { traceparent: '00-other' }), submit('part', 3)])
      },
      { traceparent: '00-own' },
    )
    expect(calls().map(({ headers }) => headers.traceparent)).toEqual(['00-own', '00-other', '00-own'])
  })
})

describe('a child that nobody awaits', () => {
  it('is there before the attempt ends', async () => {
    const report = await run(({ submit, addTasks }) => {
      void submit('part', 1)
      void addTasks((graph) => graph.task('more', 'part', 2))
      return 'done'
    })
    expect(report.result).toBe('done')
    expect(names()).toHaveLength(2)
    const order = bench.broker.server.calls.map(({ path, body }) =>
      path.endsWith('/wf-1/tasks') ? 'add' : (body.reports as unknown[] | undefined)?.length ? 'report' : '',
    )
    expect(order.lastIndexOf('add')).toBeLessThan(order.indexOf('report'))
  })

  it('fails the attempt when it is refused, and not the process', async () => {
    const report = await run(({ submit }) => {
      void submit('part', 'bad')
      return 'done'
    })
    expect(report).toMatchObject({ outcome: 'failed', error: { message: 'payload is bad' } })
  })

  it('is there when the handler fails, whose own error is told', async () => {
    const report = await run(({ submit }) => {
      void submit('part', 1)
      void submit('part', 'bad')
      throw new Error('by itself')
    })
    expect(report.error).toMatchObject({ message: 'by itself' })
    expect(names()).toHaveLength(1)
  })
})

it('says what is no task, and that the lease is lost', async () => {
  const told = async (work: (context: TaskContext) => unknown) => (await run(work)).error
  expect(await told(({ submit }) => submit(undefined as never))).toMatchObject({
    message: 'submit: the task must be a definition or a task type, and is undefined',
  })
  expect(await told(({ submit }) => submit('part', 1, { nam: 'x' } as never))).toMatchObject({
    message: 'submit: there is no option nam; did you mean name?',
  })
  bench.broker.intercept = ({ path }) => (path.endsWith('/wf-1/tasks') ? problem(409, 'lease_lost') : undefined)
  expect(await told(({ submit }) => submit('part', 1))).toMatchObject({ class: 'LeaseLostError' })
})
