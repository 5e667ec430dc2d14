import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limits } from '../limits.js'
import { compileCron } from './compile-cron.js'
import {
  type FiringPlan,
  type FiringQuestion,
  firstFireAt,
  jittered,
  jitterOf,
  misfirePolicies,
  planFirings,
} from './firings.js'
import { type CompiledSchedule, parseSchedule } from './schedule.js'

const minuteMs = 60_000
const noon = Date.UTC(2026, 4, 4, 12)
const everyMinute = compileCron('* * * * *', 'UTC')

function question(part: Partial<FiringQuestion>): FiringQuestion {
  return {
    schedule: everyMinute,
    nextFireAtMs: noon,
    nowMs: noon,
    misfire: { policy: 'fire_once', graceMs: minuteMs },
    startsAtMs: null,
    endsAtMs: null,
    ...part,
  }
}

const minutesAfterNoon = (ms: number | null) => (ms === null ? null : (ms - noon) / minuteMs)

/** The plan in minutes after noon. */
function plan(part: Partial<FiringQuestion>) {
  const { fire, skipped, nextFireAtMs } = planFirings(question(part))
  return {
    fire: fire.map(minutesAfterNoon),
    skipped: skipped === null ? null : [minutesAfterNoon(skipped.fromMs), minutesAfterNoon(skipped.toMs)],
    next: minutesAfterNoon(nextFireAtMs),
  }
}

describe('planFirings', () => {
  it('does nothing before the time, and nothing for a definition that has ended', () => {
    expect(plan({ nowMs: noon - 1 })).toEqual({ fire: [], skipped: null, next: 0 })
    expect(plan({ nextFireAtMs: null })).toEqual({ fire: [], skipped: null, next: null })
  })

  it('fires what is due, however late within the grace', () => {
    expect(plan({})).toEqual({ fire: [0], skipped: null, next: 1 })
    expect(plan({ nowMs: noon + minuteMs })).toEqual({ fire: [0, 1], skipped: null, next: 2 })
  })

  const later = noon + 180 * minuteMs + 30_000

  it('makes one task for what was missed, for the latest of it, and fires what is on time', () => {
    expect(plan({ nowMs: later })).toEqual({ fire: [179, 180], skipped: [0, 178], next: 181 })
  })

  it('makes none with skip', () => {
    const misfire = { policy: 'skip', graceMs: minuteMs } as const
    expect(plan({ nowMs: later, misfire })).toEqual({ fire: [180], skipped: [0, 179], next: 181 })
  })

  it('makes the latest hundred with fire_all, oldest first, and goes on with what is on time', () => {
    const misfire = { policy: 'fire_all', graceMs: minuteMs } as const
    const first = plan({ nowMs: later, misfire })
    expect(first.fire).toEqual(Array.from({ length: 100 }, (_, index) => 80 + index))
    expect(first).toMatchObject({ skipped: [0, 79], next: 180 })
    expect(plan({ nextFireAtMs: noon + 180 * minuteMs, nowMs: later, misfire })).toEqual({
      fire: [180],
      skipped: null,
      next: 181,
    })
  })

  it('fires 0, 1 or the least of a hundred and all, of 36, 3 and 0 that were missed', () => {
    const missedOf = (expression: string) =>
      misfirePolicies.map((policy) => {
        const schedule = compileCron(expression, 'UTC')
        const nowMs = noon + 180 * minuteMs - 1
        const misfire = { policy, graceMs: minuteMs - 2 }
        return planFirings(question({ schedule, nowMs, nextFireAtMs: schedule.next(noon - 1), misfire })).fire.length
      })
    expect(missedOf('*/5 * * * *')).toEqual([1, 0, 36])
    expect(missedOf('0 * * * *')).toEqual([1, 0, 3])
    expect(missedOf('0 0 * * *')).toEqual([0, 0, 0])
  })

  it('finds the latest of a year of seconds without stepping through them', () => {
    let steps = 0
    const step = (ms: number) => {
      steps++
      return ms
    }
    const seconds = compileCron('* * * * * *', 'UTC')
    const counted: CompiledSchedule = {
      next: (ms) => seconds.next(step(ms)),
      previous: (ms) => seconds.previous(step(ms)),
    }
    const nowMs = noon + 365 * 1_440 * minuteMs
    const { fire, nextFireAtMs } = planFirings(
      question({ schedule: counted, nowMs, misfire: { policy: 'fire_all', graceMs: 0 } }),
    )
    expect(fire.at(-1)).toBe(nowMs - 1_000)
    expect(nextFireAtMs).toBe(nowMs)
    expect(steps).toBeLessThan(110)
  })

  it('ends after ends_at, which may still fire', () => {
    const endsAtMs = noon + 2 * minuteMs
    expect(plan({ endsAtMs, nowMs: noon + minuteMs })).toEqual({ fire: [0, 1], skipped: null, next: 2 })
    expect(plan({ endsAtMs, nextFireAtMs: endsAtMs, nowMs: endsAtMs })).toEqual({
      fire: [2],
      skipped: null,
      next: null,
    })
    expect(plan({ endsAtMs, nowMs: later })).toEqual({ fire: [2], skipped: [0, 1], next: null })
  })

  it('is what judging every time by itself gives', () => {
    const questions = fc.record({
      everySeconds: fc.integer({ min: 1, max: 500 }),
      behind: fc.integer({ min: 0, max: 20_000 }),
      nowMs: fc.integer({ min: 0, max: 20_000_000 }),
      policy: fc.constantFrom(...misfirePolicies),
      graceMs: fc.integer({ min: 0, max: 300_000 }),
      endsAtMs: fc.option(fc.integer({ min: 0, max: 20_000_000 })),
    })
    fc.assert(
      fc.property(questions, ({ everySeconds, behind, nowMs, policy, graceMs, endsAtMs }) => {
        const everyMs = everySeconds * 1_000
        const schedule = parseSchedule({ kind: 'every', everyMs, anchorMs: 0 })
        const nextFireAtMs = Math.max(Math.floor(nowMs / everyMs) - behind, 0) * everyMs
        const asked = question({ schedule, nextFireAtMs, nowMs, misfire: { policy, graceMs }, endsAtMs })
        expect(planFirings(asked)).toEqual(naivePlan(asked, everyMs))
      }),
      { numRuns: 500 },
    )
  })
})

/** Steps through every time, and judges each. */
function naivePlan({ nextFireAtMs, nowMs, misfire, endsAtMs }: FiringQuestion, everyMs: number): FiringPlan {
  const times: number[] = []
  let at = nextFireAtMs ?? 0
  for (; at <= nowMs && (endsAtMs === null || at <= endsAtMs); at += everyMs) times.push(at)
  if (times.length === 0)
    return { fire: [], skipped: null, nextFireAtMs: endsAtMs !== null && at > endsAtMs ? null : at }
  const missed = times.filter((time) => nowMs - time > misfire.graceMs)
  const onTime = times.filter((time) => nowMs - time <= misfire.graceMs)
  const kept = misfire.policy === 'skip' ? [] : missed.slice(misfire.policy === 'fire_once' ? -1 : -100)
  const passed = missed.slice(0, missed.length - kept.length)
  const room = limits.cronFiringsMaxPerLook - kept.length
  const next = onTime[room] ?? at
  return {
    fire: [...kept, ...onTime.slice(0, room)],
    skipped: passed.length === 0 ? null : { fromMs: passed[0] ?? 0, toMs: passed.at(-1) ?? 0 },
    nextFireAtMs: endsAtMs !== null && next > endsAtMs ? null : next,
  }
}

describe('firstFireAt', () => {
  const daily = compileCron('0 9 * * *', 'UTC')
  const open = { startsAtMs: null, endsAtMs: null }
  const nine = Date.UTC(2026, 4, 5, 9)

  it('is at or after the instant, and not before starts_at', () => {
    expect(firstFireAt(daily, open, noon)).toBe(nine)
    expect(firstFireAt(daily, open, nine)).toBe(nine)
    expect(firstFireAt(daily, { ...open, startsAtMs: nine + 1 }, noon)).toBe(nine + 1_440 * minuteMs)
  })

  it('is none after ends_at', () => {
    expect(firstFireAt(daily, { ...open, endsAtMs: nine }, noon)).toBe(nine)
    expect(firstFireAt(daily, { ...open, endsAtMs: nine - 1 }, noon)).toBeNull()
  })

  it('is the anchor itself of a fixed distance', () => {
    const every = parseSchedule({ kind: 'every', everyMs: 7_000, anchorMs: noon })
    expect(firstFireAt(every, open, noon)).toBe(noon)
    expect(firstFireAt(every, open, noon + 1)).toBe(noon + 7_000)
  })
})

describe('jitter', () => {
  it('is a constant of the id within its bounds', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.nat(86_400_000), (id, jitterMs) => {
        const drawn = jitterOf(id, jitterMs)
        expect(drawn).toBe(jitterOf(id, jitterMs))
        expect(Number.isInteger(drawn) && drawn >= 0 && drawn <= jitterMs).toBe(true)
      }),
    )
  })

  it('spreads the definitions of one minute over all of it', () => {
    const counts = new Array<number>(10).fill(0)
    for (let index = 0; index < 10_000; index++) {
      const id = `019a0000-0000-7000-8000-${index.toString(16).padStart(12, '0')}`
      const tenth = Math.floor(jitterOf(id, 9_999) / 1_000)
      counts[tenth] = (counts[tenth] ?? 0) + 1
    }
    expect(Math.min(...counts)).toBeGreaterThan(850)
    expect(Math.max(...counts)).toBeLessThan(1_150)
  })

  it('moves all times of a schedule by the same', () => {
    const moved = jittered(everyMinute, 17_000)
    expect(moved.next(noon)).toBe(noon + 17_000)
    expect(moved.next(noon + 17_000)).toBe(noon + minuteMs + 17_000)
    expect(moved.previous(noon)).toBe(noon - minuteMs + 17_000)
    expect(jittered(everyMinute, 0)).toBe(everyMinute)
  })
})
