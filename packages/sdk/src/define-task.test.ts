import { expect, expectTypeOf, it } from 'vitest'
import type { Duly } from './client/duly.js'
import type { RawJson } from './client/raw-json.js'
import { defineTask } from './define-task.js'
import { type StandardSchema, type } from './standard-schema.js'
import type { TaskContext } from './worker/task-context.js'
import type { Worker } from './worker/worker.js'

const schema = null as unknown as StandardSchema<{ at: string }, { at: Date }>

it('keeps the settings apart from the schemas', () => {
  const task = defineTask('send_email', { payload: type<{ to: string }>(), retry: { limit: 5 }, timeout: '30s' })
  expect(task).toMatchObject({ type: 'send_email', defaults: { retry: { limit: 5 }, timeout: '30s' } })
  expect(task.defaults).not.toHaveProperty('payload')
  expect(Object.isFrozen(task)).toBe(true)
})

it('refuses names that the server would refuse', () => {
  for (const wrong of ['', 'a b', 'a\n', 'ä', 'x'.repeat(129)]) expect(() => defineTask(wrong)).toThrow(RangeError)
  for (const right of ['a', 'send_email', 'a.b-c:d/e', 'x'.repeat(128)]) expect(defineTask(right).type).toBe(right)
})

it('lets types flow from the definition to payload, handler and result', () => {
  const task = defineTask('t', { payload: schema, result: type<{ id: string }>() })
  const check = (duly: Duly, worker: Worker) => {
    expectTypeOf(duly.submit<typeof task>)
      .parameter(1)
      .toEqualTypeOf<{ at: string } | RawJson>()
    expectTypeOf(duly.submit(task, { at: 'now' }).then((handle) => handle.result())).resolves.toEqualTypeOf<{
      id: string
    }>()
    worker.handle(task, (payload, context) => {
      expectTypeOf(payload).toEqualTypeOf<{ at: Date }>()
      expectTypeOf(context).toEqualTypeOf<TaskContext>()
      return { id: 'x' }
    })
    worker.handle(task, async (_, { snooze }) => snooze('1m'))
    // @ts-expect-error the payload is of another type
    void duly.submit(task, { at: 5 })
    // @ts-expect-error the result is of another type
    worker.handle(task, () => ({ id: 5 }))
    worker.handle('free', (payload) => {
      expectTypeOf(payload).toEqualTypeOf<unknown>()
    })
  }
  expectTypeOf(check).toBeFunction()
})
