import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { KeyStack } from './json-keys.js'

/** Adds keys to one object, in order; true where a key was new. */
function added(keys: readonly string[], hash?: () => number): boolean[] {
  let text = ''
  const spans = keys.map((key) => {
    const start = text.length + 1
    text += `${JSON.stringify(key)},`
    return [start, text.length - 2, JSON.stringify(key).includes('\\')] as const
  })
  const stack = hash ? new KeyStack(text, hash) : new KeyStack(text)
  stack.open()
  return spans.map(([start, end, escaped]) => stack.add(start, end, escaped))
}

const firstTimes = (keys: readonly string[]): boolean[] => keys.map((key, index) => keys.indexOf(key) === index)
const manyKeys = fc.array(fc.string({ maxLength: 2 }), { maxLength: 300 })

describe('the stack of keys', () => {
  it('knows a key again in objects of any size', () => {
    fc.assert(
      fc.property(manyKeys, (keys) => {
        expect(added(keys)).toEqual(firstTimes(keys))
      }),
    )
  })

  it('knows it also when all keys collide', () => {
    fc.assert(
      fc.property(manyKeys, (keys) => {
        expect(added(keys, () => 7)).toEqual(firstTimes(keys))
      }),
    )
  })

  it('keeps the objects apart that are open at the same time', () => {
    const stack = new KeyStack('ab')
    stack.open()
    expect(stack.add(0, 1, false)).toBe(true)
    stack.open()
    expect([stack.add(0, 1, false), stack.add(1, 2, false), stack.add(0, 1, false)]).toEqual([true, true, false])
    stack.close()
    expect([stack.add(1, 2, false), stack.add(0, 1, false)]).toEqual([true, false])
  })
})
