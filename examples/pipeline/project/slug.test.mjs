import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slug } from './slug.mjs'

test('a slug has no marks and no spaces', () => {
  assert.equal(slug('  Crème Brûlée, twice '), 'creme-brulee-twice')
})
