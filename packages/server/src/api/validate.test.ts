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

  it('finds every text that stands twice in a list of different ones', () => {
    const tagged = (...tags: string[]) =>
      compileValidator(SubmitTask)({ task_type: 'a', tags }).map(({ path, message }) => `${path} ${message}`)
    for (const tag of ['a', '__proto__', 'constructor', '0']) {
      expect(tagged('b', tag, 'c', tag)).toEqual(['tags must not repeat items: 3 equals 1'])
    }
    expect(tagged('a', 'A', '__proto__', 'constructor')).toEqual([])
  })

  it('says in words what is wanted', () => {
    const wrong = {
      task_type: 5,
      priority: 'urgent',
      tags: 'a',
      metadata: { a: [] },
      max_retries: 1.5,
      delay_seconds: -1,
    }
    const said = compileValidator(SubmitTask)(wrong).map(({ path, message }) => `${path} ${message}`)
    expect(said.sort()).toEqual([
      'delay_seconds must be at least 0',
      'max_retries must be a whole number',
      'metadata.a must be a string or a number or true or false',
      'priority must be one of high, medium, low',
      'tags must be a list',
      'task_type must be a string',
    ])
    const sizes = compileValidator(SubmitBatch)({ tasks: [{ task_type: 'a', tags: ['', 'x'.repeat(65)] }, {}] })
    expect(sizes.map(({ path, message }) => `${path} ${message}`)).toEqual([
      'tasks[0].tags[0] must not be empty',
      'tasks[0].tags[1] must have at most 64 characters',
      'tasks[1].task_type is required',
    ])
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
