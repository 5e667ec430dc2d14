import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Backoff, pause } from './backoff.js'

it('draws from a growing range between floor and cap', () => {
  fc.assert(
    fc.property(fc.nat(200), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (failures, drawn) => {
      const backoff = new Backoff({ baseMs: 100, capMs: 3_000, floorMs: 20, random: () => drawn })
      let delay = 0
      for (let n = 0; n <= failures; n += 1) delay = backoff.next()
      const ceiling = Math.min(3_000, 100 * 2 ** failures)
      expect(delay).toBeCloseTo(Math.max(20, drawn * ceiling))
      expect(backoff.failures).toBe(failures + 1)
    }),
  )
})

it('waits out what the server asks for, up to the cap', () => {
  const backoff = new Backoff({ baseMs: 100, capMs: 3_000, random: () => 0.5 })
  expect(backoff.next(1_000)).toBe(1_050)
  expect(backoff.next(60_000)).toBe(3_050)
})

it('starts anew after a success', () => {
  const backoff = new Backoff({ baseMs: 100, capMs: 3_000, random: () => 0.99 })
  for (let n = 0; n < 5; n += 1) backoff.next()
  backoff.reset()
  expect(backoff.next()).toBe(99)
})

it('pauses until the time is up or the signal aborts', async () => {
  await pause(1)
  const abort = new AbortController()
  const paused = pause(60_000, abort.signal)
  abort.abort(new Error('stop'))
  await expect(paused).rejects.toThrow('stop')
  await expect(pause(60_000, abort.signal)).rejects.toThrow('stop')
})
