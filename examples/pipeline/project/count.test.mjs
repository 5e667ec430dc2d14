import assert from 'node:assert/strict'
import { test } from 'node:test'
import { count } from './count.mjs'

test('the most frequent comes first', () => {
  assert.deepEqual(count(['a', 'b', 'b']), [
    ['b', 2],
    ['a', 1],
  ])
})
