import { expect, test } from 'vitest'
import { randomOf } from './random.js'
import { drawSubmission } from './submissions.js'

test('a seed repeats its choices, another one or another actor does not', () => {
  const draws = (actor: string, seed: number) => {
    const random = randomOf(actor, seed)
    return Array.from({ length: 20 }, (_, index) => drawSubmission(random, `m${index}`))
  }
  expect(draws('a', 1)).toEqual(draws('a', 1))
  expect(draws('a', 1)).not.toEqual(draws('a', 2))
  expect(draws('a', 1)).not.toEqual(draws('b', 1))
})

test('draws are even, and follow their weights', () => {
  const random = randomOf('a', 7)
  const counts = { often: 0, seldom: 0, never: 0 }
  for (let index = 0; index < 10_000; index += 1) counts[random.weighted({ often: 9, seldom: 1, never: 0 })] += 1
  expect(counts.never).toBe(0)
  expect(counts.often / 10_000).toBeCloseTo(0.9, 1)
  const integers = new Set(Array.from({ length: 1_000 }, () => random.integer(3, 6)))
  expect([...integers].sort()).toEqual([3, 4, 5, 6])
})
