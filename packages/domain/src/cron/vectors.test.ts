import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compileCron } from './compile-cron.js'

interface Vector {
  readonly id: string
  readonly expression: string
  readonly timezone: string
  readonly after: string
  readonly expected: readonly string[]
}

const vectors = readFileSync(new URL('testdata/vectors.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector)

const minuteOf = (ms: number | null) => (ms === null ? 'never' : `${new Date(ms).toISOString().slice(0, 16)}Z`)

describe('fire times that other schedulers got wrong', () => {
  it.each(vectors)('$id: $expression in $timezone after $after', ({ expression, timezone, after, expected }) => {
    const schedule = compileCron(expression, timezone)
    const found: (number | null)[] = []
    for (let at: number | null = Date.parse(after); at !== null && found.length < expected.length; ) {
      at = schedule.next(at)
      found.push(at)
    }
    expect(found.map(minuteOf)).toEqual(expected)
    const back = [...found].reverse().map((at) => schedule.previous((at ?? 0) + 999))
    expect(back.map(minuteOf).reverse()).toEqual(expected)
  })

  it('are all there', () => {
    expect(vectors.length).toBe(52)
  })
})
