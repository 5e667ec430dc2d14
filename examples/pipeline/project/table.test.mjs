import assert from 'node:assert/strict'
import { test } from 'node:test'
import { table } from './table.mjs'

test('columns are as wide as their widest cell', () => {
  assert.equal(
    table([
      ['a', 'bb'],
      ['ccc', 'd'],
    ]),
    'a    bb\nccc  d',
  )
})
