import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planScan, scanInTurns, scanJson } from './json-scan.js'
import { spelled } from './test-support/spelled.js'

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** What our scanner thinks of a text, leaving aside what it finds inside valid JSON. */
const scans = (text: string): boolean => scanJson(text).fatal === null

const issuesOf = (text: string) => scanJson(text).issues.map(({ path, message }) => `${path}: ${message}`)

const fragments = [
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '"',
  '\\',
  '\\u00',
  '\\ud83d',
  '1',
  '-',
  '.5',
  'e9',
  'E+',
  '0',
  'true',
  'nul',
  ' ',
  '\n',
  '\u0001',
  'é',
  '\u00a0',
  '\ufeff',
  '/**/',
]

/** Nothing parses the payload. */
const payloads = planScan([{ path: 'payload', opaque: true }])

describe('what is JSON', () => {
  it('agrees with JSON.parse on generated documents', () => {
    fc.assert(
      fc.property(spelled, (text) => scans(text)),
      { numRuns: 500 },
    )
  })

  it('agrees with JSON.parse on random texts made of the pieces of JSON', () => {
    const text = fc.array(fc.constantFrom(...fragments), { maxLength: 12 }).map((pieces) => pieces.join(''))
    fc.assert(
      fc.property(text, (candidate) => scans(candidate) === isJson(candidate)),
      { numRuns: 5_000 },
    )
  })

  it('agrees with JSON.parse on documents with one change', () => {
    const mutated = fc
      .tuple(spelled, fc.nat(), fc.nat(3), fc.constantFrom(...fragments, ''))
      .map(([text, position, removed, inserted]) => {
        const at = position % (text.length + 1)
        return text.slice(0, at) + inserted + text.slice(at + removed)
      })
    fc.assert(
      fc.property(mutated, (candidate) => scans(candidate) === isJson(candidate)),
      { numRuns: 5_000 },
    )
  })

  it.each([
    ['', 'is empty', '', 0],
    ['{"a":[1,}', 'has an unexpected character', 'a[1]', 8],
    ['{"a":1', 'must be followed by "," or "}"', 'a', 6],
    ['{"a":1}}', 'has more text after its end', '', 7],
    ['{"a":"x\ny"}', 'holds a control character that is not escaped', 'a', 7],
    ['{"a":"x', 'has a string that is not closed', 'a', 7],
    ['{"a":01}', 'must be followed by "," or "}"', 'a', 6],
    ['{"b":{"a":1.}}', 'has a number that lacks a digit', 'b.a', 12],
    ['\ufeff{}', 'has an unexpected character', '', 0],
  ])('says what is wrong and where: %j', (text, message, path, position) => {
    expect(scanJson(text).fatal).toMatchObject({ message, path, position })
  })
})

describe('what JSON.parse hides', () => {
  it('finds duplicate keys, however they are spelled', () => {
    expect(issuesOf('{"a":1,"b":{"x":[{"k":1,"\\u006b":2}]},"a":3}')).toEqual([
      'b.x[0].k: is a duplicate key',
      'a: is a duplicate key',
    ])
  })

  it('does not take the same key in two objects for a duplicate', () => {
    expect(issuesOf('[{"a":1},{"a":{"a":2}},{"b":{"a":1},"a":1}]')).toEqual([])
  })

  it('finds the duplicate in an object of any size, and only it', () => {
    const keys = fc.uniqueArray(fc.string({ maxLength: 6 }), { minLength: 1, maxLength: 300 })
    fc.assert(
      fc.property(keys, fc.nat(), (names, pick) => {
        const members = names.map((key) => `${JSON.stringify(key)}:{"n":1}`)
        expect(scanJson(`{${members.join()}}`).issues).toEqual([])
        const again = JSON.stringify(names[pick % names.length])
        const { issues } = scanJson(`{${members.join()},${again}:1}`)
        expect(issues.map(({ message }) => message)).toEqual(['is a duplicate key'])
      }),
      { numRuns: 200 },
    )
  })

  it('takes __proto__ for a key like any other', () => {
    expect(issuesOf('{"__proto__":{"polluted":1},"constructor":1,"toString":2,"__proto__":2}')).toEqual([
      '__proto__: is a duplicate key',
    ])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('finds NUL but lets the text that spells it pass', () => {
    expect(issuesOf('{"a":["\\u0000"]}')).toEqual(['a[0]: holds the character U+0000, which is not allowed'])
    expect(issuesOf('{"a\\u0000":1}')).toEqual([': holds the character U+0000, which is not allowed'])
    expect(issuesOf('["\\\\u0000","C:\\\\u0000dir","\\\\\\\\u0000"]')).toEqual([])
    expect(scanJson('["\u0000"]').fatal?.message).toBe('holds a control character that is not escaped')
  })

  it('finds halves of surrogate pairs and takes whole ones', () => {
    const half = 'holds a lone surrogate, half of a character'
    expect(issuesOf('["\\ud83d"]')).toEqual([`[0]: ${half}`])
    expect(issuesOf('["\\ude00"]')).toEqual([`[0]: ${half}`])
    expect(issuesOf('["\\ud83d\\u0041"]')).toEqual([`[0]: ${half}`])
    expect(issuesOf('["\\ud83dx"]')).toEqual([`[0]: ${half}`])
    expect(issuesOf('["\ud83d"]')).toEqual([`[0]: ${half}`])
    expect(issuesOf('["a\ude00"]')).toEqual([`[0]: ${half}`])
    expect(issuesOf('["\\ud83d\\ude00","\\uD83D\\uDE00","😀"]')).toEqual([])
  })

  it('finds numbers beyond double range', () => {
    expect(issuesOf(`[1e400,-1e400,1e-400,1e308,${'9'.repeat(400)},9007199254740993,-0]`)).toEqual([
      '[0]: is a number beyond double range',
      '[1]: is a number beyond double range',
      '[4]: is a number beyond double range',
    ])
  })

  it('takes 100 levels and not 101, without recursion', () => {
    const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
    expect(scanJson(nested(100)).fatal).toBeNull()
    expect(scanJson(nested(101)).fatal?.message).toBe('is nested deeper than 100 levels')
    expect(scanJson('['.repeat(1_000_000)).fatal?.position).toBe(100)
    expect(scanJson('{"a":'.repeat(1_000_000)).fatal?.message).toBe('is nested deeper than 100 levels')
  })

  it('takes 10,000 keys in an object, and any number in one that nothing parses', () => {
    const plan = planScan([
      { path: 'tasks[*].payload', opaque: true },
      { path: 'tasks[*].metadata', opaque: false },
    ])
    const object = (count: number): string => `{${Array.from({ length: count }, (_, index) => `"k${index}":0`).join()}}`
    const scan = (text: string) => scanJson(text, plan).fatal
    const fatal = (path: string) => ({ path, message: 'has more than 10000 keys', limit: 'too_large' })
    expect(scan(object(10_000))).toBeNull()
    expect(scan(object(10_001))).toMatchObject(fatal(''))
    expect(scan(`{"tasks":[{"payload":[${object(10_001)}],"metadata":${object(10_000)}}]}`)).toBeNull()
    expect(scan(`{"tasks":[{"payload":{},"metadata":${object(10_001)}}]}`)).toMatchObject(fatal('tasks[0].metadata'))
    expect(scan(`{"tasks":[{"payload":${object(10_001)}},${object(10_001)}]}`)).toMatchObject(fatal('tasks[1]'))
  })

  it('stops at two million keys and values, wherever they stand', () => {
    const zeros = (count: number) => Array(count).fill(0).join()
    expect(scanJson(`[${zeros(1_999_999)}]`).fatal).toBeNull()
    const found = { path: '', limit: 'too_large' }
    expect(scanJson(`[${zeros(2_000_000)}]`).fatal).toMatchObject(found)
    const members = Array.from({ length: 1_000_000 }, (_, index) => `"${index}":0`)
    expect(scanJson(`{"payload":{${members.join()}}}`, payloads).fatal).toMatchObject({
      ...found,
      message: 'holds more than 2000000 keys and values; send it in parts',
    })
  })

  it('reads nothing of a value behind twice its limit, which is refused where it stands', () => {
    const plan = planScan([{ path: 'tasks[*].payload', opaque: true, maxBytes: 100 }])
    const scan = (payload: string) => scanJson(`{"tasks":[{"payload":1},{"a":0,"payload":${payload}}]}`, plan).fatal
    const list = (chars: number): string => `[${'0,'.repeat((chars - 4) / 2)}0 ]`
    const found = { path: 'tasks[1].payload', message: expect.stringContaining('100 bytes'), limit: 'too_large' }
    expect(scan(list(200))).toBeNull()
    for (const payload of [list(100_000), `[{"a":${list(100_000)}}]`, `[${'0,'.repeat(1_000)}`]) {
      const fatal = scan(payload)
      expect(fatal).toMatchObject(found)
      expect(fatal?.position).toBeLessThan(250)
    }
    // beside it everything is as long as it likes to be
    const rest = `{"tasks":[{"payload":[],"x":${list(1_000)}},{"payload":${list(200)}}],"y":${list(1_000)}}`
    expect(scanJson(rest, plan).fatal).toBeNull()
  })

  it('stops listing after 50 findings', () => {
    const { issues, fatal } = scanJson(`[${Array(1_000).fill('"\\u0000"').join()}]`)
    expect(issues).toHaveLength(50)
    expect(fatal?.message).toBe('is the last place that was looked at: too much is wrong')
  })

  it('lets texts pass that are cleaned later, and no others', () => {
    const plan = planScan([], /^reports\[\d+\]\.error\./)
    const text = '{"reports":[{"error":{"message":"\\u0000\\ud800"}},{"result":"\\u0000"}]}'
    expect(scanJson(text, plan).issues.map(({ path }) => path)).toEqual(['reports[1].result'])
  })
})

it('stays linear: 200,000 keys, many escapes, line ends of all kinds', () => {
  const keys = Array.from({ length: 200_000 }, (_, index) => `"${index}":0`)
  const texts = [
    `{"payload":{${keys.join()}}}`,
    `["${'\\n'.repeat(1_000_000)}"]`,
    `[${'"a",\n'.repeat(300_000)}"\\u0041"\r]`,
    `["${'😀'.repeat(500_000)}"]`,
  ]
  for (const text of texts) {
    const before = process.cpuUsage().user
    expect(scanJson(text, payloads).fatal).toBeNull()
    expect(process.cpuUsage().user - before).toBeLessThan(5_000_000)
  }
})

describe('a scan in turns', () => {
  const plan = planScan([{ path: 'payload', opaque: true, maxBytes: 50 }])

  it('finds what one at a stretch finds, wherever the stretches end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.json(), fc.string()), fc.integer({ min: 1, max: 40 }), async (json, stretch) => {
        const text = `{"a":[${json}],"payload":${json}}`
        const [turns, whole] = [await scanInTurns(text, plan, stretch), scanJson(text, plan)]
        expect([turns.issues, turns.fatal]).toEqual([whole.issues, whole.fatal])
        if (whole.fatal === null) expect(turns.captures.skeleton()).toBe(whole.captures.skeleton())
      }),
    )
  })

  it('lets others read in between, and is not confused by them', async () => {
    const text = `{"a":${'['.repeat(50)}"\\u0000"${']'.repeat(50)}}`
    const scans = await Promise.all(Array.from({ length: 5 }, (_, n) => scanInTurns(text, plan, n + 1)))
    for (const { issues } of scans) expect(issues).toEqual(scanJson(text, plan).issues)
  })

  it('gives way at the end of each stretch', async () => {
    const text = `[${'0,'.repeat(5_000)}0]`
    let turns = 0
    let isDone = false
    const count = (): void => {
      turns++
      if (!isDone) setImmediate(count)
    }
    setImmediate(count)
    await scanInTurns(text, plan, 1_000)
    isDone = true
    expect(turns).toBeGreaterThanOrEqual(9)
  })
})
