import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatInstant, parseInstant } from './instant.js'

describe('instants', () => {
  it.each([
    ['1970-01-01T00:00:00Z', 0],
    ['9999-12-31T23:59:59.999Z', 253_402_300_799_999],
    ['2026-04-04T09:00:00+02:00', Date.UTC(2026, 3, 4, 7)],
    ['2026-04-04t09:00:00.1234567z', Date.UTC(2026, 3, 4, 9, 0, 0, 123)],
    ['2024-02-29T00:00:00-00:00', Date.UTC(2024, 1, 29)],
    ['1969-12-31T23:30:00-01:00', 1_800_000],
  ])('reads %s', (text, ms) => expect(parseInstant(text)).toBe(ms))

  it.each([
    '2026-02-31T00:00:00Z',
    '2026-06-31',
    '2025-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2026-08-01 10:00',
    '2026-08-01T10:00:00',
    '2026-08-01T10:00:00+25:00',
    '2026-08-01T10:00:00+02:60',
    '2026-12-31T23:59:60Z',
    '2026-12-31T24:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-13-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '1969-12-31T23:59:59.999Z',
    '1970-01-01T00:30:00+01:00',
    '9999-12-31T23:59:59-00:01',
    '10000-01-01T00:00:00Z',
    '+275760-09-13T00:00:00Z',
    'infinity',
    '8640000000000000',
    '',
    '2026-04-04T09:00:00Z ',
    '２０26-04-04T09:00:00Z',
  ])('refuses %j', (text) => expect(parseInstant(text)).toBeNull())

  it('reads back whatever it writes', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (ms) => parseInstant(formatInstant(ms)) === ms),
    )
  })
})
