import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorPattern, errorPatternMaxChars } from './error-pattern.js'

describe('the pattern of an error', () => {
  it.each([
    ['Timed out after 30 s', 'Timed out after <n> s'],
    ['took 1.5 s of 1,000.25', 'took <n> s of <n>'],
    ['connect ECONNREFUSED 10.0.0.12:5432', 'connect ECONNREFUSED <n>:<n>'],
    ['user 01a22499-f800-7000-8000-00000000000a is gone', 'user <id> is gone'],
    ['task-01m8m8g63ye0v964cp0nfyyggj was lost', 'task-<id> was lost'],
    ['no such customer: cus_NffrFeUfNV2Hib', 'no such customer: <id>'],
    ['at 0x7ffee3b0 and deadbeef01', 'at <hex> and <hex>'],
    ['commit 3f2a9c4d', 'commit <hex>'],
    ['duplicate key "orders_pkey" of `orders`', 'duplicate key <text> of <text>'],
    ["can't find 'Ada Lovelace' in user's list", "can't find <text> in user's list"],
    ['mail to ada.lovelace+x@mail.example.com bounced', 'mail to <email> bounced'],
    ['GET /users/42/orders/1a2b3c4d5e6f failed', 'GET /users/<n>/orders/<hex> failed'],
    ['not before 2026-04-04T09:00:00.123Z', 'not before <time>'],
    ['line one\n\n\t line two ', 'line one line two'],
    ['utf8 by HTTP2 in worker-process-2', 'utf<n> by HTTP<n> in worker-process-<n>'],
    ['Cannot read properties of undefined', 'Cannot read properties of undefined'],
    ['{"code":503,"id":"a"}', '{<text>:<n>,<text>:<text>}'],
    ['', ''],
    ['  \n ', ''],
  ])('of %j is %j', (message, pattern) => {
    expect(errorPattern(message)).toBe(pattern)
  })

  it('is the same for any two ids, numbers and names', () => {
    const parts = fc.record({
      id: fc.uuid(),
      count: fc.nat(),
      name: fc.stringMatching(/^[^"\s]{0,40}$/),
      at: fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') }),
    })
    const say = ({ id, count, name, at }: { id: string; count: number; name: string; at: Date }) =>
      `order ${id} of "${name}" failed ${count} times since ${at.toISOString()}`
    fc.assert(
      fc.property(parts, (one) => {
        expect(errorPattern(say(one))).toBe('order <id> of <text> failed <n> times since <time>')
      }),
    )
  })

  /** Pieces that meet the borders of the rules. */
  const pieces = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.constantFrom(...'"\'`<>@.-_+:,/ \n', '1', '12', 'a', 'e', 'x', '0x', 'n', '\ud83d\ude00', '\ud83d'),
    },
    fc.constantFrom('<n>', '<text>', '<id>', 'a@b.co', '2026-04-04', 'T09:00', 'Z', 'deadbeef', '1e5', 'é', '\u00a0'),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.uuid(),
    fc.stringMatching(/^[a-z]{60,70}$/),
  )
  const hostile = fc.array(pieces, { maxLength: 120 }).map((found) => found.join(''))

  it('is its own pattern, bounded, and without a digit but in nothing', () => {
    fc.assert(
      fc.property(hostile, (message) => {
        const pattern = errorPattern(message)
        expect(errorPattern(pattern)).toBe(pattern)
        expect(pattern.length).toBeLessThanOrEqual(errorPatternMaxChars)
        expect(pattern).not.toMatch(/\d/)
      }),
      { numRuns: 5_000 },
    )
  })

  it('cuts no character in two', () => {
    for (const length of [299, 300, 301, 1_999, 2_000]) {
      expect(errorPattern(`${'a'.repeat(length - 1)}😀😀`)).toMatch(/^a+(😀)*$/u)
    }
  })

  it.each([
    ['quotes', '"\'`'],
    ['apostrophes that open', " 'a"],
    ['numbers with a letter behind', '1.1.1.1.1.1.1.1.1.1.1.1.x'],
    ['locals without a host', 'a.b+c-'],
    ['hosts without a dot', 'a@b'],
    ['hosts of hyphens', 'a@--'],
    ['digits', '1'],
    ['hexadecimal with a g', 'deadbeef1g'],
    ['white space', ' \n\t'],
    ['letters', 'a'],
  ])('costs no more for hostile %s than their length', (_, piece) => {
    // steps of the machine can't be counted from here: a rule that tries all ways to divide a text never ends, and fails by time-out
    const text = piece.repeat(Math.ceil(8_192 / piece.length))
    for (let n = 0; n < 100; n++) errorPattern(text)
  })

  it('looks at no more than the first 2,000 units', () => {
    const start = 'a b '.repeat(500)
    fc.assert(
      fc.property(hostile, (rest) => {
        expect(errorPattern(start + rest)).toBe(errorPattern(start))
      }),
    )
  })
})
