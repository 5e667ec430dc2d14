import { expect, it } from 'vitest'
import { fit, padded, textWidth } from './text-width.js'

it.each([
  ['', 0],
  ['abc', 3],
  ['東京', 4],
  ['한글', 4],
  ['ｆｕｌｌ', 8],
  ['e\u0301', 1],
  ['👍🏽', 2],
  ['👨‍👩‍👧', 2],
  ['✓', 1],
  ['ﾊﾝ', 2],
])('%s takes %d columns', (text, width) => expect(textWidth(text)).toBe(width))

it('cuts between characters, not through them', () => {
  expect(fit('abc', 3)).toBe('abc')
  expect(fit('abcd', 3)).toBe('ab…')
  expect(fit('東京都', 5)).toBe('東京…')
  expect(fit('東京都', 4)).toBe('東…')
  expect(fit('👨‍👩‍👧👨‍👩‍👧', 3)).toBe('👨‍👩‍👧…')
  expect(fit('abc', 0)).toBe('')
})

it('fills up by columns', () => {
  expect(padded('東', 4)).toBe('東  ')
  expect(padded('abc', 2)).toBe('abc')
})
