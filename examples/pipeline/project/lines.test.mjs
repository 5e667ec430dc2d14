import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lines } from './lines.mjs'

test('lines end as on any system', () => {
  assert.deepEqual(lines('a\nb\r\nc\rd'), ['a', 'b', 'c', 'd'])
})
