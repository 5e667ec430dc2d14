import assert from 'node:assert/strict'
import { test } from 'node:test'
import { words } from './words.mjs'

test('words are runs of letters and digits', () => {
  assert.deepEqual(words('Grüße, 2 Welten!'), ['Grüße', '2', 'Welten'])
  assert.deepEqual(words(' … '), [])
})
