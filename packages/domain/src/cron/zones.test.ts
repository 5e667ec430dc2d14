import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileCron } from './compile-cron.js'
import { timeZoneFault, Zone } from './zone.js'

const zones = Intl.supportedValuesOf('timeZone')
const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** All fire times from an instant to before another one. */
function between(expression: string, zone: string, fromMs: number, toMs: number): number[] {
  const schedule = compileCron(expression, zone)
  const found: number[] = []
  for (let at = schedule.next(fromMs - 1); at !== null && at < toMs; at = schedule.next(at)) found.push(at)
  return found
}

/** The instant at which a zone's clocks first show this hour of UTC, from the zone's data alone. */
function localMidnight(zone: string, utcMs: number): number {
  const data = new Zone(zone)
  return utcMs - data.at(utcMs - data.at(utcMs).offsetMs).offsetMs
}

describe('a daily schedule in every time zone', () => {
  it.each(['0 12 * * *', '30 2 * * *', '0 0 * * *', '30 1 * * *', '0 3 * * *', '59 23 * * *'])('%s', (expression) => {
    const wrong: string[] = []
    for (const zone of zones) {
      const start = localMidnight(zone, Date.UTC(2026, 0, 1))
      const end = localMidnight(zone, Date.UTC(2027, 0, 1))
      const times = between(expression, zone, start, end)
      const distances = times.slice(1).map((time, index) => time - (times[index] ?? 0))
      if (times.length !== 365) wrong.push(`${zone} fires ${times.length} times`)
      if (distances.some((ms) => ms < 22 * hourMs || ms > 26 * hourMs)) wrong.push(`${zone} has a gap or a double`)
    }
    expect(zones.length).toBeGreaterThan(400)
    expect(wrong).toEqual([])
  })
})

describe('the days on which New York changes its clocks', () => {
  const spring = [Date.UTC(2026, 2, 8, 5), Date.UTC(2026, 2, 9, 4)] as const
  const autumn = [Date.UTC(2026, 10, 1, 4), Date.UTC(2026, 10, 2, 5)] as const

  it.each([
    ['0 * * * *', 23, 25],
    ['*/15 * * * *', 92, 100],
    ['* * * * *', 1_380, 1_500],
    ['0-59/15 0-23 * * *', 92, 96],
    ['30 1,2,3 * * *', 3, 3],
  ])('%s has %i firings in spring and %i in autumn', (expression, inSpring, inAutumn) => {
    expect(between(expression, 'America/New_York', ...spring)).toHaveLength(inSpring)
    expect(between(expression, 'America/New_York', ...autumn)).toHaveLength(inAutumn)
  })

  it('keeps quarters of an hour a quarter apart, through both', () => {
    const all = between('*/15 * * * *', 'America/New_York', spring[0] - dayMs, autumn[1] + dayMs)
    expect(all.every((time, index) => time === (all[0] ?? 0) + index * 900_000)).toBe(true)
  })
})

describe('Zone', () => {
  it('knows the offset of every zone at every instant, to the second of a change', () => {
    const formats = new Map<string, Intl.DateTimeFormat>()
    const cases = fc.constantFrom(...zones, 'Africa/Monrovia').chain((name) => {
      const zone = new Zone(name)
      const anywhere = fc.integer({ min: 0, max: Date.UTC(2060, 0, 1) })
      const nearEnds = anywhere.chain((ms) => fc.constantFrom(zone.at(ms).endMs - 1, zone.at(ms).endMs))
      return fc.tuple(fc.constant(name), fc.oneof(anywhere, nearEnds))
    })
    fc.assert(
      fc.property(cases, ([name, ms]) => {
        const format = formats.get(name) ?? wallFormat(name)
        formats.set(name, format)
        const stretch = new Zone(name).at(ms)
        expect(stretch.startMs <= ms && ms < stretch.endMs).toBe(true)
        expect(stretch.offsetMs).toBe(wallOf(format, ms) - Math.floor(ms / 1_000) * 1_000)
      }),
      { numRuns: 300 },
    )
  })

  it('knows an offset of seconds, and the day that Apia left out', () => {
    expect(new Zone('Africa/Monrovia').at(0).offsetMs).toBe(-(44 * 60 + 30) * 1_000)
    const before = new Zone('Pacific/Apia').at(Date.UTC(2011, 11, 30, 10) - 1)
    expect(before).toMatchObject({ endMs: Date.UTC(2011, 11, 30, 10), offsetMs: -10 * hourMs })
    expect(new Zone('Pacific/Apia').at(before.endMs).offsetMs).toBe(14 * hourMs)
  })

  it('goes on to the year 9999', () => {
    expect(new Zone('Europe/Berlin').at(Date.UTC(9999, 6, 1)).offsetMs).toBe(2 * hourMs)
  })
})

/** Another way to the offset: the wall clock itself. */
function wallFormat(timeZone: string): Intl.DateTimeFormat {
  const numeric = 'numeric'
  const parts = {
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  } as const
  return new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...parts })
}

function wallOf(format: Intl.DateTimeFormat, ms: number): number {
  const part = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
  const at = (type: Intl.DateTimeFormatPartTypes) => part.get(type) ?? 0
  return Date.UTC(at('year'), at('month') - 1, at('day'), at('hour'), at('minute'), at('second'))
}

describe('the name of a time zone', () => {
  it.each([
    ['', /is not a time zone/],
    ['America/New_Yrok', /not a time zone that is known here/],
    ['Mars/Phobos', /not a time zone that is known here/],
    ['UTC+3', /not a time zone that is known here/],
    ['+03:00', /write an IANA name/],
    ['GMT Standard Time', /write an IANA name/],
    ['Europe/Berlin\n', /write an IANA name/],
    ['EST', /ambiguous/],
    ['IST', /ambiguous/],
    ['PST', /ambiguous/],
    ['est', /ambiguous/],
    ['Foo', /not a time zone that is known here/],
    ['utc', /is written "UTC"/],
    ['america/new_york', /is written "America\/New_York"/],
    ['us/pacific', /not written as IANA has it; try "America\/Los_Angeles"/],
    ['x'.repeat(10_000), /is not a time zone/],
  ])('refuses %j', (name, message) => {
    expect(timeZoneFault(name)).toMatch(message)
    expect(timeZoneFault(name)?.length).toBeLessThan(200)
  })

  it.each(['UTC', 'GMT', 'Etc/GMT+3', 'Asia/Kolkata', 'Europe/Kyiv', 'US/Pacific', 'America/Port_of_Spain', 'Japan'])(
    'takes %s',
    (name) => {
      expect(timeZoneFault(name)).toBeNull()
    },
  )

  it('takes every name of the runtime', () => {
    expect(zones.filter((name) => timeZoneFault(name) !== null)).toEqual([])
  })
})
