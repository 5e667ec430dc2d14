import { expect, it } from 'vitest'
import { Alarm } from './alarm.js'
import { onceWithin } from './once-within.js'
import { RecentTexts } from './recent-texts.js'
import { SeenLeases } from './seen-leases.js'

it('remembers at least the last 10,000 leases, and not for ever', () => {
  const seen = new SeenLeases()
  const news = (from: number, to: number) => {
    let count = 0
    for (let n = from; n < to; n += 1) count += seen.add(`lease-${n}`) ? 1 : 0
    return count
  }
  expect(news(0, 30_000)).toBe(30_000)
  expect(news(20_000, 30_000)).toBe(0)
  expect(seen.add('lease-0')).toBe(true)
})

it('rings at the earliest instant, and again at the next that it is told', async () => {
  const rings: number[] = []
  const began = performance.now()
  await new Promise<void>((resolve) => {
    const alarm = new Alarm((now) => {
      rings.push(now - began)
      if (rings.length === 1) return began + 40
      resolve()
      return Number.POSITIVE_INFINITY
    })
    alarm.setAt(began + 10_000)
    alarm.setAt(began + 15)
    alarm.setAt(began + 5_000)
  })
  expect(rings).toHaveLength(2)
  expect(rings[0]).toBeGreaterThanOrEqual(14)
  expect(rings[1]).toBeGreaterThanOrEqual(39)
})

it('does not ring early for an instant beyond the longest timer', async () => {
  let rings = 0
  const alarm = new Alarm(() => {
    rings += 1
    return Number.POSITIVE_INFINITY
  })
  alarm.setAt(performance.now() + 2 ** 32)
  await new Promise((resolve) => setTimeout(resolve, 20))
  alarm.clear()
  expect(rings).toBe(0)
})

it('acts once, called or not', async () => {
  let acts = 0
  const run = onceWithin(5, () => {
    acts += 1
  })
  run()
  run()
  await new Promise((resolve) => setTimeout(resolve, 15))
  expect(acts).toBe(1)
  await new Promise<void>((resolve) => onceWithin(1, resolve))
})

it('tells a repeated text once in a while', () => {
  const recent = new RecentTexts(5_000)
  expect([0, 10, 4_999, 5_000].map((now) => recent.isNew('x', now))).toEqual([true, false, false, true])
  expect(recent.isNew('y', 10)).toBe(true)
})
