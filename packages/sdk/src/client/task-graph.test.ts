import { afterAll, describe, expect, expectTypeOf, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type } from '../standard-schema.js'
import type { Worker } from '../worker/worker.js'
import { Duly } from './duly.js'
import type { TaskStatus } from './records.js'
import type { WorkflowNode } from './task-graph.js'
import { AddedTasks } from './workflow-builder.js'

/** Nobody listens there: nothing here gets as far as the network. */
const duly = new Duly({ url: 'http://127.0.0.1:1', retries: 0 })
afterAll(() => duly.close())

const account = defineTask('create_account', { payload: type<{ user: string }>(), result: type<{ id: number }>() })
const invoice = defineTask('send_invoice', { payload: type<null>(), result: type<string>() })
const welcome = defineTask('welcome', {
  payload: type<{ template: string }>(),
  dependencies: { 'create-account': account },
})
const payload = { template: 'a' }

describe('types', () => {
  it('flow from definitions to nodes, from nodes to handles, from dependencies to handlers', () => {
    const check = async (worker: Worker) => {
      const workflow = duly.workflow('onboarding')
      const created = workflow.task('create-account', account, { user: 'a' })
      expectTypeOf(created).toEqualTypeOf<WorkflowNode<'create-account', { id: number }>>()
      workflow.task('welcome', welcome, payload, { after: [created] })
      const handle = await workflow.submit()
      expectTypeOf(handle.node(created).result()).resolves.toEqualTypeOf<{ id: number }>()
      expectTypeOf(handle.node('welcome').result()).resolves.toEqualTypeOf<unknown>()

      worker.handle(welcome, async (given, { dependencies, addTasks }) => {
        expectTypeOf(given).toEqualTypeOf<{ template: string }>()
        expectTypeOf(dependencies.result('create-account')).resolves.toEqualTypeOf<{ id: number }>()
        expectTypeOf(dependencies.result('other')).resolves.toEqualTypeOf<unknown>()
        expectTypeOf(dependencies.result('other', invoice)).resolves.toEqualTypeOf<string>()
        expectTypeOf(dependencies.statuses).toEqualTypeOf<ReadonlyMap<string, TaskStatus>>()
        for await (const [name, text] of dependencies.results(invoice)) {
          expectTypeOf(name).toEqualTypeOf<string>()
          expectTypeOf(text).toEqualTypeOf<string>()
        }
        await addTasks((graph) => graph.task('more', welcome, payload, { after: ['create-account'] }))
      })
      // @ts-expect-error the result is of another type
      worker.handle(account, async () => ({ id: 'x' }))
      // @ts-expect-error the payload has no such field
      worker.handle(account, ({ name }) => ({ id: name }))
      worker.handle('free', (_, { dependencies }) => {
        expectTypeOf(dependencies.result('a')).resolves.toEqualTypeOf<unknown>()
      })
    }
    expectTypeOf(check).toBeFunction()
  })

  it('refuse a payload, a dependency that is missing, and one that has another result', () => {
    const check = () => {
      const workflow = duly.workflow('w')
      // @ts-expect-error the payload is of another type
      workflow.task('create-account', account, { user: 5 })
      // @ts-expect-error create-account is not in after
      workflow.task('welcome', welcome, payload)
      // @ts-expect-error create-account is not in after
      workflow.task('welcome', welcome, payload, { after: [] })
      const other = workflow.task('other', account, { user: 'a' })
      // @ts-expect-error what is in after has another name
      workflow.task('welcome', welcome, payload, { after: [other] })
      const wrong = workflow.task('create-account', invoice, null)
      // @ts-expect-error what is in after has another result
      workflow.task('welcome', welcome, payload, { after: [other, wrong] })
      // @ts-expect-error a name stands for a task only where the workflow is there already
      workflow.task('welcome', 'welcome', null, { after: ['create-account'] })
      const parts: WorkflowNode<string, string>[] = []
      workflow.task('join', 'join', null, { after: parts, triggerRule: 'all_done' })
      // @ts-expect-error the payload is missing
      workflow.task('create-account', account)
      // @ts-expect-error there is no such rule
      workflow.task('create-account', account, { user: 'a' }, { after: [other], triggerRule: 'all_success' })
      expectTypeOf(workflow.task('plain', 'plain')).toEqualTypeOf<WorkflowNode<'plain', unknown>>()
      // names that only the program knows are checked when it runs
      workflow.task('welcome', welcome, payload, { after: parts })
    }
    expectTypeOf(check).toBeFunction()
  })
})

describe('a graph', () => {
  const plain = (options: object): never => options as never
  const graph = () => duly.workflow('w')

  it('refuses what plain JavaScript gets wrong, and says where', () => {
    const workflow = graph()
    const created = workflow.task('create-account', account, { user: 'a' })
    const wrong: readonly (readonly [() => unknown, string])[] = [
      [() => workflow.task('create-account', 't'), 'workflow "w", task "create-account": there is a task of this name'],
      [() => workflow.task('a', 't', null, plain({ dependencies: [] })), 'did you mean after?'],
      [() => workflow.task('a', 't', null, plain({ trigger_rule: 'x' })), 'did you mean triggerRule?'],
      [() => workflow.task('a', 't', null, plain({ idempotencyKey: 'k' })), 'no option idempotencyKey'],
      [() => workflow.task('a', 't', null, plain({ retry: { limt: 1 } })), 'did you mean limit?'],
      [
        () => workflow.task('a', 't', null, plain({ after: created })),
        'workflow "w", task "a": after must be a list of tasks',
      ],
      [
        () => workflow.task('a', 't', null, plain({ after: [undefined] })),
        'after must be a list of tasks; it has undefined',
      ],
      [() => workflow.task('a', 't', null, plain({ after: ['x'] })), '"x" in after is no task that this graph has'],
      [
        () => workflow.task('a', 't', null, { after: [graph().task('create-account', 't')] }),
        'no task that this graph',
      ],
      [
        () => workflow.task('w', welcome as never, payload),
        'it reads the result of create-account, which is not in after',
      ],
      [() => workflow.task(plain(account), plain(Object('a')), null as never), 'the name comes first: task('],
      [() => workflow.task('a', undefined as never, null as never), 'a definition or a task type, and is undefined'],
      [() => workflow.task('a', 't', { after: [created] }), 'after is an option, and stands in the payload'],
      [() => workflow.task('a', 't', { after: created }), 'after is an option, and stands in the payload'],
      [() => duly.workflow(plain({ name: 'w' })), 'workflow: the name comes first, as text; it is a Object'],
      [() => duly.workflow('w', plain({ failure_policy: 'x' })), 'did you mean failurePolicy?'],
    ]
    for (const [call, told] of wrong) expect(call).toThrow(told)
    expect(workflow.size).toBe(1)
    expect(() => workflow.task('w', welcome, payload, { after: [created] })).not.toThrow()
  })

  it('refuses a dependency of another task type', () => {
    const workflow = graph()
    const created = workflow.task('create-account', 'import_account')
    expect(() => workflow.task('w', welcome as never, payload, { after: [created] })).toThrow(
      'create-account must be a task of the type create_account, and is one of import_account',
    )
  })

  it('takes names of the workflow where it is there already', async () => {
    const added = new AddedTasks()
    const part = added.task('part', 'resize', { page: 1 })
    added.task('merge', 'merge', null, { after: [part, 'create-account'], triggerRule: 'none_failed' })
    expect((await added.texts()).map((text) => JSON.parse(text))).toEqual([
      { task_id: 'part', task_type: 'resize', payload: { page: 1 } },
      {
        ...{ task_id: 'merge', task_type: 'merge', payload: null, trigger_rule: 'none_failed' },
        dependencies: ['part', 'create-account'],
      },
    ])
  })
})
