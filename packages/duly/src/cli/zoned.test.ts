import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromNow, zoned } from './zoned.js'

it.each([
  ['2026-12-01T14:00:00Z', 'America/New_York', 'Tue 2026-12-01 09:00:00 -05:00'],
  ['2026-11-30T18:30:00Z', 'Asia/Kolkata', 'Tue 2026-12-01 00:00:00 +05:30'],
  ['2026-07-01T12:00:00Z', 'UTC', 'Wed 2026-07-01 12:00:00 +00:00'],
  ['2026-07-01T12:00:00Z', 'Mars/Phobos', undefined],
])('%s on the clocks of %s is %s', (at, zone, text) => {
  expect(zoned(new Date(at), zone)).toBe(text)
})

it('says again which instant it was', () => {
  const zones = fc.constantFrom('America/St_Johns', 'Europe/Paris', 'Pacific/Kiritimati', 'UTC', 'Australia/Lord_Howe')
  const seconds = fc.integer({ min: 1_000_000_000, max: 4_000_000_000 })
  fc.assert(
    fc.property(zones, seconds, (zone, second) => {
      const [, day, time, offset] = zoned(new Date(second * 1_000), zone)?.split(' ') ?? []
      expect(Date.parse(`${day}T${time}${offset}`)).toBe(second * 1_000)
    }),
  )
})

it.each([
  [0, 'now'],
  [999, 'now'],
  [1_000, 'in 1 s'],
  [89_999, 'in 90 s'],
  [90_000, 'in 2 min'],
  [5_399_999, 'in 90 min'],
  [3 * 3_600_000 + 5, 'in 3 h'],
  [129_600_000, 'in 2 d'],
  [3 * 86_400_000 - 20, 'in 3 d'],
  [-2 * 86_400_000, '2 d ago'],
  [-45_000, '45 s ago'],
])('%d ms from now is %s', (ms, text) => {
  expect(fromNow(new Date(1e12 + ms), new Date(1e12))).toBe(text)
})
