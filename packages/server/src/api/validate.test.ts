import { components, SubmitBatch, SubmitTask } from '@duly/contract'
import { describe, expect, it } from 'vitest'
import { compileValidator } from './validate.js'

const pathsOf = (errors: readonly { path: string }[]) => errors.map(({ path }) => path).sort()

describe('validation', () => {
  it('takes the examples of the contract', () => {
    const examples = Object.values(components).flatMap((schema) =>
      ((schema as { examples?: unknown[] }).examples ?? []).map((example) => compileValidator(schema)(example)),
    )
    expect(examples.length).toBeGreaterThan(1)
    expect(examples.flat()).toEqual([])
  })

  it('compiles a schema once', () => {
    expect(compileValidator(SubmitTask)).toBe(compileValidator(SubmitTask))
  })

  it('writes the paths of odd keys so that they can be told apart', () => {
    const schema = {
      type: 'object',
      additionalProperties: { type: 'object', additionalProperties: { type: 'number' } },
    }
    const value = { 'a.b': { '0': 'x', 'c/d~e': 'x' } }
    expect(pathsOf(compileValidator(schema)(value))).toEqual(['["a.b"]["0"]', '["a.b"]["c/d~e"]'])
  })

  it('does not gather a million errors of a hostile document', () => {
    const validate = compileValidator(SubmitBatch)
    const tags = Array(100_000).fill(1)
    const tasks = Array.from({ length: 200 }, () => ({ task_type: 'a', tags }))
    const errors = validate({ tasks }, 200 * 200_000)
    expect(errors.length).toBe(100)
    expect(errors[0]?.path).toMatch(/^tasks\[0\]\.tags/)
  })

  it('says what is wrong at the top of a large document', () => {
    const tasks = Array(10_000).fill({ task_type: 'a' })
    expect(compileValidator(SubmitBatch)({ tasks, nope: 1 }, 300_000)).toEqual([
      { path: 'nope', message: 'is not a known field' },
    ])
  })
})
