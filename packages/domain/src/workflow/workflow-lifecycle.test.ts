import { describe, expect, it } from 'vitest'
import { isOpenWorkflow, workflowStatuses, workflowStatusGuard, workflowTransitions } from './workflow-lifecycle.js'

describe('the table of a workflow', () => {
  it('is the agreed one', () => {
    const steps = Object.entries(workflowTransitions).map(
      ([name, { from, to }]) => `${name}: ${from.join(' ')} > ${to}`,
    )
    expect(steps).toEqual([
      'submit:  > RUNNING',
      'succeed: RUNNING > SUCCEEDED',
      'fail: RUNNING > FAILED',
      'request_cancel: RUNNING > RUNNING',
      'cancel: RUNNING > CANCELLED',
      'retry: FAILED CANCELLED > RUNNING',
      'replay: SUCCEEDED FAILED CANCELLED > RUNNING',
    ])
  })

  it('has one open status', () => {
    expect(workflowStatuses.filter(({ name }) => isOpenWorkflow(name)).map(({ name }) => name)).toEqual(['RUNNING'])
    for (const { name, open } of workflowStatuses) expect(isOpenWorkflow(name)).toBe(open)
  })
})

describe('workflowStatusGuard', () => {
  it('writes the condition from the table', () => {
    expect(workflowStatusGuard('succeed', 'w.status')).toBe("w.status = 'RUNNING'")
    expect(workflowStatusGuard('retry')).toBe("status in ('FAILED','CANCELLED')")
  })

  it('refuses anything but a plain column name', () => {
    for (const column of ['', 'a b', "status'--", 'a.b.c'])
      expect(() => workflowStatusGuard('retry', column)).toThrow(RangeError)
  })
})
