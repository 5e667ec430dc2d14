import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wrap } from './wrap.mjs'

test('lines are broken between words', () => {
  assert.equal(wrap('one two three four', 9), 'one two\nthree\nfour')
  assert.equal(wrap('unbreakable', 3), 'unbreakable')
})
