import { apiRoutes } from '@duly/contract'
import { describe, expect, it } from 'vitest'
import { queryReader } from './query.js'
import { compileValidator } from './validate.js'

const { submitTask, submitBatch, createCronTask, submitWorkflow, listTasks } = apiRoutes

const told = (schema: object, body: unknown, chars?: number) =>
  compileValidator(schema)(body, chars).map(({ path, message }) => `${path}: ${message}`)
const unknown = (path: string, meant?: string) =>
  `${path}: is not a known field${meant === undefined ? '' : `; did you mean ${meant}?`}`

describe('a field that is none', () => {
  it.each([
    ['max_retrys', 'max_retries'],
    ['maxRetries', 'max_retries'],
    ['retries', 'max_retries'],
    ['priorty', 'priority'],
    ['timeout', 'timeout_seconds'],
    ['delay', 'delay_seconds'],
    ['run_at', 'scheduled_at'],
    ['type', 'task_type'],
    ['data', 'payload'],
    ['tenant_id', 'metadata.tenant_id'],
    ['correlationId', 'metadata.correlation_id'],
    ['colour', undefined],
    ['x'.repeat(65), undefined],
    ['__proto__', undefined],
  ])('of a task is told with the one that was meant: %s, %s', (wrong, meant) => {
    const body = JSON.parse(`{"task_type":"a",${JSON.stringify(wrong)}:1}`)
    const expected = told(submitTask.body, body)
    expect(expected).toEqual([unknown(wrong, meant)])
  })

  it('stands in items and nodes at its place', () => {
    const tasks = [{ task_type: 'a' }, { task_type: 'a', priorty: 'low' }]
    expect(told(submitBatch.body, { tasks })).toEqual([unknown('tasks[1].priorty', 'priority')])
    expect(told(submitBatch.body, { tasks }, 300_000)).toEqual([unknown('tasks[1].priorty', 'priority')])
    expect(told(submitBatch.body, { task: [], tasks: [{ task_type: 'a' }] })).toEqual([unknown('task', 'tasks')])
    const node = { task_id: 'a', task_type: 'a', depends_on: [] }
    expect(told(submitWorkflow.body, { workflow_name: 'w', tasks: [node] })).toEqual([
      unknown('tasks[0].depends_on', 'dependencies'),
    ])
    expect(told(submitWorkflow.body, { workflow_name: 'w', name: 'w', tasks: [] })[0]).toBe(
      unknown('name', 'workflow_name'),
    )
    expect(told(createCronTask.body, { name: 'a', cron: '@daily', task_type: 'a' })).toContain(
      unknown('cron', 'cron_expression'),
    )
  })

  it('is looked for only among the first hundred, which are listed', () => {
    const wrong = Array.from({ length: 150 }, (_, n) => [`max_retr${(370 + n).toString(36)}ies`, 1])
    const errors = told(submitTask.body, { task_type: 'a', ...Object.fromEntries(wrong) })
    expect(errors).toHaveLength(150)
    expect(errors.filter((error) => error.endsWith('did you mean max_retries?'))).toHaveLength(100)
    expect(errors.at(-1)).not.toContain('did you mean')
  })

  it('of a query is told likewise', () => {
    const errors: { path: string; message: string }[] = []
    queryReader(listTasks.query)({ stauts: 'DEAD', type: 'a', offset: '5' }, errors)
    expect(errors.map(({ path, message }) => `${path}: ${message}`)).toEqual([
      unknown('stauts', 'status'),
      unknown('type', 'task_type'),
      unknown('offset'),
    ])
  })
})
