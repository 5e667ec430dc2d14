import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { limits } from '../limits.js'
import { compileCron } from './compile-cron.js'
import { CronEvaluator } from './evaluator.js'
import { parseCron } from './parse-cron.js'
import { parseSchedule } from './schedule.js'
import { Zone } from './zone.js'

const show = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString().slice(0, 16))

/** The next fire times after an instant, to the minute. */
function next(expression: string, zone: string, after: string, count: number): (string | null)[] {
  const schedule = compileCron(expression, zone)
  const found: (string | null)[] = []
  for (let at: number | null = Date.parse(after); at !== null && found.length < count; ) {
    at = schedule.next(at)
    found.push(show(at))
  }
  return found
}

describe('a search that goes far', () => {
  it('finds the leap days, and none in 2100', () => {
    expect(next('0 0 29 2 *', 'UTC', '2095-01-01T00:00Z', 3)).toEqual([
      '2096-02-29T00:00',
      '2104-02-29T00:00',
      '2108-02-29T00:00',
    ])
  })

  it('finds a 29 February that is a Monday 28 years on, and 40 around 2100', () => {
    expect(next('0 0 * 2 MON#5', 'UTC', '2026-01-01T00:00Z', 4)).toEqual([
      '2044-02-29T00:00',
      '2072-02-29T00:00',
      '2112-02-29T00:00',
      '2140-02-29T00:00',
    ])
  })

  it('has an end in the year 9999', () => {
    expect(next('0 0 1 1 *', 'UTC', '9998-06-01T00:00Z', 2)).toEqual(['9999-01-01T00:00', null])
    expect(compileCron('* * * * *', 'UTC').next(limits.instantMaxMs)).toBeNull()
    expect(compileCron('* * * * *', 'UTC').next(Number.MAX_SAFE_INTEGER)).toBeNull()
    expect(show(compileCron('0 0 1 1 *', 'UTC').previous(Number.MAX_SAFE_INTEGER))).toBe('9999-01-01T00:00')
  })

  it('has a beginning in 1970', () => {
    expect(compileCron('* * * * *', 'Asia/Tokyo').next(-1_000_000)).toBe(0)
    expect(compileCron('0 0 1 2 *', 'UTC').previous(0)).toBeNull()
    expect(compileCron('* * * * *', 'UTC').previous(-1)).toBeNull()
  })

  it('gives up on what falls into a gap year after year', () => {
    const lost = compileCron('* 2 * 3 SUN#2', 'America/New_York')
    expect(lost.next(Date.UTC(2026, 0, 1))).toBeNull()
    expect(show(lost.previous(Date.UTC(2026, 0, 1)))).toBe('2006-03-12T07:59')
  })
})

describe('the answer depends on the question alone', () => {
  const usual = process.env.TZ
  afterEach(() => {
    if (usual === undefined) delete process.env.TZ
    else process.env.TZ = usual
  })

  const vectors = readFileSync(new URL('testdata/vectors.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const answers = () =>
    vectors.map((line) => {
      const { expression, timezone, after } = JSON.parse(line)
      return new CronEvaluator(parseCron(expression), new Zone(timezone)).next(Date.parse(after))
    })

  it('and not on the time zone of the process', () => {
    const offsets = new Set<number>()
    const found = ['UTC', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Europe/London'].map((zone) => {
      process.env.TZ = zone
      offsets.add(new Date(Date.UTC(2026, 0, 1)).getTimezoneOffset())
      return JSON.stringify(answers())
    })
    expect(offsets.size).toBeGreaterThan(3)
    expect(new Set(found).size).toBe(1)
  })

  it('and not on what was asked before', () => {
    const schedule = compileCron('30 1 * * *', 'America/New_York')
    const secondPass = Date.UTC(2026, 10, 1, 6, 35)
    const fresh = new CronEvaluator(parseCron('30 1 * * *'), new Zone('America/New_York'))
    for (const at of [0, Date.UTC(2030, 0, 1), secondPass - 3_600_000]) schedule.next(at)
    expect(show(fresh.next(secondPass))).toBe('2026-11-02T06:30')
    expect(show(schedule.next(secondPass))).toBe('2026-11-02T06:30')
    expect(show(schedule.previous(secondPass))).toBe('2026-11-01T05:30')
  })

  it('also from within a millisecond', () => {
    const schedule = compileCron('0 9 * * *', 'UTC')
    const nine = Date.UTC(2026, 0, 1, 9)
    expect([nine - 1, nine - 0.5].map((at) => schedule.next(at))).toEqual([nine, nine])
    expect([nine, nine + 0.5, nine + 999].map((at) => schedule.previous(at))).toEqual([nine, nine, nine])
    expect(schedule.next(nine)).toBe(nine + 86_400_000)
  })
})

describe('beside a gap', () => {
  it('the last time is the one that was moved, the next one is tomorrow', () => {
    const schedule = compileCron('0 2 * * *', 'America/New_York')
    const after = Date.UTC(2020, 2, 8, 7, 1)
    expect(show(schedule.previous(after))).toBe('2020-03-08T07:00')
    expect(show(schedule.next(after))).toBe('2020-03-09T06:00')
    expect(show(schedule.previous(Date.UTC(2020, 2, 8, 7) - 1))).toBe('2020-03-07T07:00')
  })

  it('several local times in it make one firing', () => {
    expect(next('0,10,50 2 * * *', 'America/New_York', '2026-03-08T00:00Z', 2)).toEqual([
      '2026-03-08T07:00',
      '2026-03-09T06:00',
    ])
    expect(next('* 30 2 * * *', 'America/New_York', '2026-03-08T00:00Z', 2)).toEqual([
      '2026-03-08T07:00',
      '2026-03-09T06:30',
    ])
  })

  it('of half an hour, as Lord Howe has it', () => {
    expect(next('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', 2)).toEqual([
      '2026-10-03T15:30',
      '2026-10-04T15:15',
    ])
    expect(next('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T00:00Z', 2)).toEqual([
      '2026-04-04T14:45',
      '2026-04-05T15:15',
    ])
  })
})

describe('in a repeated hour, a schedule in real time with few matches', () => {
  const rare = compileCron('30 * 1 1 11 *', 'America/New_York')

  it('goes on from the first pass into the second', () => {
    expect(rare.next(Date.UTC(2026, 10, 1, 5, 59, 40))).toBe(Date.UTC(2026, 10, 1, 6, 0, 30))
  })

  it('goes back from the second pass into the first', () => {
    expect(rare.previous(Date.UTC(2026, 10, 1, 6, 0, 10))).toBe(Date.UTC(2026, 10, 1, 5, 59, 30))
    expect(rare.previous(Date.UTC(2026, 10, 1, 5, 0, 10))).toBe(Date.UTC(2025, 10, 1, 5, 59, 30))
  })
})

describe('a fixed distance', () => {
  const anchorMs = Date.UTC(2026, 2, 7, 14)
  const day = parseSchedule({ kind: 'every', everyMs: 86_400_000, anchorMs })

  it('begins at its anchor and keeps to real time where clocks change', () => {
    expect(show(day.next(0))).toBe('2026-03-07T14:00')
    expect(show(day.next(anchorMs))).toBe('2026-03-08T14:00')
    expect(next('0 9 * * *', 'America/New_York', '2026-03-07T00:00Z', 2)).toEqual([
      '2026-03-07T14:00',
      '2026-03-08T13:00',
    ])
  })

  it('never drifts, however late it is asked', () => {
    expect(day.next(anchorMs + 10_000 * 86_400_000 + 12_345)).toBe(anchorMs + 10_001 * 86_400_000)
    expect(day.previous(anchorMs + 10_000 * 86_400_000 + 12_345)).toBe(anchorMs + 10_000 * 86_400_000)
    expect(day.previous(anchorMs - 1)).toBeNull()
    expect(day.next(limits.instantMaxMs)).toBeNull()
  })

  it.each([0, 999, -1_000, 1_000.5, Number.NaN, limits.delayMaxMs + 1])('refuses %d ms', (everyMs) => {
    expect(() => parseSchedule({ kind: 'every', everyMs, anchorMs })).toThrow(/every_seconds must be 1 to/)
  })
})
