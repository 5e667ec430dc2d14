import { expect, it } from 'vitest'
import { describeIssues, type, validate } from './standard-schema.js'

it('passes everything through without a schema, and with one that only carries a type', async () => {
  expect(await validate(undefined, 5)).toEqual({ value: 5 })
  expect(await validate(type<string>(), 5)).toEqual({ value: 5 })
})

it('names issues by their path, whichever way a schema writes it', () => {
  const issues = [{ message: 'required', path: ['items', { key: 0 }, 'to'] }, { message: 'wrong' }]
  expect(describeIssues(issues)).toBe('items.0.to: required; wrong')
})
