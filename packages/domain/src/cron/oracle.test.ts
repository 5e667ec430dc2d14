import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileCron } from './compile-cron.js'
import { Zone } from './zone.js'

/**
 * Everything is compared with croner 11, whose rule `no-wildcard` is the one of Vixie cron. What it takes otherwise than we do is not
 * drawn, and told of in the last tests.
 */
const long = process.env.DULY_LONG === '1'
const seed = Number(process.env.DULY_SEED ?? Date.now() % 1_000_000)
const zones = Intl.supportedValuesOf('timeZone')

/** A field as text: a star, a step of it, or a list of values, ranges and stepped ranges. */
function fieldText(min: number, max: number): fc.Arbitrary<string> {
  const value = fc.integer({ min, max })
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const stepped = fc.tuple(range, fc.integer({ min: 1, max: 7 })).map(([text, step]) => `${text}/${step}`)
  const open = fc.tuple(value, fc.integer({ min: 1, max: 7 })).map(([from, step]) => `${from}/${step}`)
  const item = fc.oneof({ arbitrary: value.map(String), weight: 4 }, { arbitrary: range, weight: 2 }, stepped, open)
  const list = fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','))
  const step = fc.integer({ min: 1, max: max - min + 1 }).map((size) => `*/${size}`)
  return fc.oneof({ arbitrary: list, weight: 3 }, fc.constant('*'), step)
}

const dayText = fc.oneof(
  { arbitrary: fc.constant('*'), weight: 4 },
  { arbitrary: fieldText(1, 31), weight: 3 },
  fc.constantFrom('L', 'LW', '?', '1,L'),
  fc.integer({ min: 1, max: 28 }).map((day) => `${day}W`),
)
const weekday = fc.constantFrom('0', '1', '2', '3', '4', '5', '6', 'sun', 'MON', 'Tue', 'SAT')
const weekdayText = fc.oneof(
  { arbitrary: fc.constant('*'), weight: 4 },
  { arbitrary: fieldText(0, 6), weight: 3 },
  fc.constantFrom('MON-FRI', '1-5', '?', '6,7', '5-7', '4-7/3'),
  weekday.map((day) => `${day}L`),
  fc.tuple(weekday, fc.integer({ min: 1, max: 5 })).map(([day, nth]) => `${day}#${nth}`),
)
const monthText = fc.oneof(
  { arbitrary: fc.constant('*'), weight: 5 },
  fieldText(1, 12),
  fc.constantFrom('JAN', 'mar,NOV', 'Apr-Oct', '3', '10'),
)
/** The hours in which clocks are changed come up often. */
const hourText = fc.oneof(fieldText(0, 23), fieldText(0, 3), fc.constantFrom('1', '2', '2,14', '1-2', '0'))
const fiveFields = fc.tuple(fieldText(0, 59), hourText, dayText, monthText, weekdayText)
const expressions = fc.oneof(
  { arbitrary: fiveFields.map((fields) => fields.join(' ')), weight: 4 },
  fc.tuple(fieldText(0, 59), fiveFields).map(([seconds, fields]) => [seconds, ...fields].join(' ')),
)

/** Any instant of 2000 to 2037, and those around the clock changes of 2026. */
const instants = (zone: string) =>
  fc.oneof(
    { arbitrary: fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2037, 0, 1) }), weight: 1 },
    {
      arbitrary: fc
        .tuple(fc.constantFrom(...changesOf2026(zone)), fc.integer({ min: -7_200, max: 7_200 }), fc.nat(999))
        .map(([change, seconds, ms]) => change + seconds * 1_000 - ms),
      weight: 2,
    },
  )

const changes = new Map<string, readonly number[]>()

function changesOf2026(zone: string): readonly number[] {
  const known = changes.get(zone)
  if (known !== undefined) return known
  const data = new Zone(zone)
  const ends: number[] = []
  for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at = data.at(at).endMs) ends.push(data.at(at).endMs)
  changes.set(zone, ends)
  return ends
}

const cases = fc.constantFrom(...zones).chain((zone) => fc.tuple(expressions, fc.constant(zone), instants(zone)))

/**
 * croner refuses `5/10`, and takes a step anywhere, or a star for the seconds, for the mark of a schedule in real time. Here only the
 * first character of minutes and hours tells. So steps that have a beginning, and all of the seconds, are written as lists for it.
 */
function asLists(expression: string): string {
  const fields = expression.split(' ')
  const isSix = fields.length === 6
  const most = isSix ? [59, 59, 23, 31, 12, 6] : [59, 23, 31, 12, 6]
  const lists = fields.map((field, index) =>
    (isSix && index === 0 ? field.replace('*', '0-59') : field).replace(
      /(\d+)(?:-(\d+))?(?:\/(\d+))/g,
      (_, from: string, to: string | undefined, step: string) =>
        steps(Number(from), Number(to ?? most[index]), Number(step)),
    ),
  )
  return lists.map((field, index) => (isSix && index === 0 && field === '0-59' ? steps(0, 59, 1) : field)).join(' ')
}

function steps(from: number, to: number, step: number): string {
  const values: number[] = []
  for (let value = from; value <= to; value += step) values.push(value)
  return values.join(',')
}

function oracle(expression: string, zone: string): (afterMs: number) => number | null {
  const cron = new Cron(asLists(expression), { timezone: zone, fixedTimeRule: 'no-wildcard', paused: true })
  return (afterMs) => cron.nextRun(new Date(afterMs))?.getTime() ?? null
}

/** Some of what is drawn is no date, which both refuse in their own way. */
function compiled(expression: string, zone: string) {
  try {
    return compileCron(expression, zone)
  } catch {
    return null
  }
}

/** The end of a gap that is a midnight: croner loses what falls into such a gap, see below. */
function isGapToMidnight(name: string, instantMs: number | null): boolean {
  if (instantMs === null) return false
  const { startMs, offsetMs } = new Zone(name).at(instantMs)
  const isMidnight = (instantMs + offsetMs) % 86_400_000 === 0
  return isMidnight && startMs === instantMs && new Zone(name).at(startMs - 1).offsetMs < offsetMs
}

const parameters = (runs: number) => ({ seed, numRuns: long ? runs * 20 : runs })

describe(`fire times (seed ${seed})`, () => {
  it("are croner's, in every zone, around every clock change of 2026", () => {
    fc.assert(
      fc.property(cases, ([expression, zone, startMs]) => {
        const ours = compiled(expression, zone)
        const theirs = oracle(expression, zone)
        if (ours === null) {
          expect(theirs(startMs)).toBeNull()
          return
        }
        let at: number | null = startMs
        for (let step = 0; step < 3 && at !== null; step++) {
          const next: number | null = ours.next(at)
          if (isGapToMidnight(zone, next)) return
          expect(show(next)).toBe(show(theirs(at)))
          at = next
        }
      }),
      parameters(600),
    )
  })

  it('are the same backwards as forwards', () => {
    fc.assert(
      fc.property(cases, ([expression, zone, startMs]) => {
        const schedule = compiled(expression, zone)
        if (schedule === null) return
        const last = schedule.previous(startMs)
        const next = schedule.next(startMs)
        if (next !== null) {
          expect(next).toBeGreaterThan(startMs)
          expect(show(schedule.previous(next))).toBe(show(next))
          expect(show(schedule.previous(next - 1))).toBe(show(last))
        }
        if (last === null) return
        expect(last).toBeLessThanOrEqual(startMs)
        expect(show(schedule.next(last))).toBe(show(next))
        expect(show(schedule.next(last - 1))).toBe(show(last))
      }),
      parameters(1_500),
    )
  })
})

const show = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString())

describe('what croner takes otherwise', () => {
  const beforeGap = Date.UTC(2026, 2, 8, 5)
  const secondPass = Date.UTC(2026, 10, 1, 6)
  const newYork = 'America/New_York'
  const theirs = (expression: string, afterMs: number) => {
    const cron = new Cron(expression, { timezone: newYork, fixedTimeRule: 'no-wildcard', paused: true })
    return show(cron.nextRun(new Date(afterMs))?.getTime() ?? null)
  }
  const ours = (expression: string, afterMs: number) => show(compileCron(expression, newYork).next(afterMs))

  it('a step that has a beginning, for the mark of real time', () => {
    expect(ours('0-59/30 2 * * *', beforeGap)).toBe('2026-03-08T07:00:00.000Z')
    expect(theirs('0-59/30 2 * * *', beforeGap)).toBe('2026-03-09T06:00:00.000Z')
  })

  it('a star for the seconds, for the mark of real time', () => {
    expect(ours('* 0 1 * * *', secondPass)).toBe('2026-11-02T06:00:00.000Z')
    expect(theirs('* 0 1 * * *', secondPass)).toBe('2026-11-01T06:00:01.000Z')
  })

  it('a gap that ends at midnight, in which it loses a run', () => {
    const options = { timezone: 'America/Scoresbysund', fixedTimeRule: 'no-wildcard', paused: true } as const
    const noon = Date.UTC(2026, 2, 28, 12)
    expect(show(compileCron('30 23 * * *', options.timezone).next(noon))).toBe('2026-03-29T01:00:00.000Z')
    expect(show(new Cron('30 23 * * *', options).nextRun(new Date(noon))?.getTime() ?? null)).toBe(
      '2026-03-30T00:30:00.000Z',
    )
  })

  it('a step without an end, which it refuses', () => {
    expect(ours('5/20 9 * * *', beforeGap)).toBe('2026-03-08T13:05:00.000Z')
    expect(() => theirs('5/20 9 * * *', beforeGap)).toThrow()
  })

  it('a seventh field and a plus, which we refuse', () => {
    expect(theirs('0 0 9 * * * 2027', beforeGap)).toBe('2027-01-01T14:00:00.000Z')
    expect(theirs('0 9 13 * +5', beforeGap)).toBe('2026-03-13T13:00:00.000Z')
    expect(() => ours('0 0 9 * * * 2027', beforeGap)).toThrow(/7 fields/)
    expect(() => ours('0 9 13 * +5', beforeGap)).toThrow(/not understood/)
  })
})
