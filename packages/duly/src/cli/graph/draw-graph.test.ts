import type { WorkflowNodeRecord } from '@duly/sdk'
import { describe, expect, it } from 'vitest'
import { textWidth } from '../text-width.js'
import { drawGraph } from './draw-graph.js'
import { tellMs } from './tell-nodes.js'

const now = new Date('2026-05-01T09:01:00Z')
const at = (seconds: number) => new Date(Date.parse('2026-05-01T09:00:00Z') + seconds * 1_000)
const canvas = { width: 80, now, hasColours: false, isPlain: false }

function node(name: string, dependencies: string[] = [], more: Partial<WorkflowNodeRecord> = {}): WorkflowNodeRecord {
  return {
    ...{ name, id: `task-${name}`, taskType: 't', queue: 'default', status: 'BLOCKED', triggerRule: 'all_succeeded' },
    ...{ dependencies, createdAt: at(0), dueAt: null, startedAt: null, completedAt: null, attempts: 0, failures: 0 },
    ...{ reason: null, error: null, addedBy: null, ...more },
  }
}

const done = { status: 'SUCCEEDED', startedAt: at(0), completedAt: at(1.2) } as const
const onboarding = [
  node('create-account', [], done),
  node('send-welcome-email', ['create-account'], { status: 'RUNNING', startedAt: at(55), failures: 1 }),
  node('setup-defaults', ['create-account'], {
    ...{ status: 'DEAD', startedAt: at(1), completedAt: at(1.02), failures: 4 },
    error: { class: 'SmtpError', message: 'no route\u001b[2J to 東京' },
  }),
  node('clean-up', ['send-welcome-email', 'setup-defaults'], { triggerRule: 'one_failed' }),
]

describe('a drawing', () => {
  const failing = (message: string) =>
    ({ status: 'DEAD', startedAt: at(0), completedAt: at(1), error: { class: 'SmtpError', message } }) as const

  it('has each task below those that it waits for, with what became of it', () => {
    expect(drawGraph(onboarding, { ...canvas, width: 100 })).toBe(
      [
        '✓   create-account      SUCCEEDED  1.2 s',
        '├─╮',
        '│ ▶ send-welcome-email  RUNNING  5.0 s  1 failed',
        '✗ │ setup-defaults      DEAD  20 ms  4 failed  SmtpError: no route\\u001b[2J to 東京',
        '╰─┤',
        '  ○ clean-up            BLOCKED  one_failed',
        '',
      ].join('\n'),
    )
  })

  it('fits into a narrow screen, wide characters included', () => {
    for (const width of [20, 33, 50, 72, 73, 74, 75, 80]) {
      const lines = drawGraph(onboarding, { ...canvas, width })
        .trimEnd()
        .split('\n')
      expect(lines).toHaveLength(6)
      for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width)
    }
  })

  it('marks in colour for a screen that has them', () => {
    const text = drawGraph(onboarding, { ...canvas, hasColours: true })
    expect(text).toContain('\u001b[32m✓\u001b[39m   create-account')
    expect(text).toContain('\u001b[31m✗\u001b[39m │ setup-defaults')
  })

  it('needs no more than ASCII where there is no more', () => {
    const text = drawGraph(
      onboarding.map((each) => ({ ...each, error: null })),
      { ...canvas, isPlain: true },
    )
    expect(text).toMatch(/^[\n -~]+$/)
    expect(text.split('\n').slice(0, 3)).toEqual([
      '+   create-account      SUCCEEDED  1.2 s',
      '|-.',
      '| > send-welcome-email  RUNNING  5.0 s  1 failed',
    ])
  })

  it('names what failed below a long drawing, where the rails leave its error no room', () => {
    const chain = Array.from({ length: 30 }, (_, n) =>
      node(`n${n}`, n === 0 ? [] : [`n${n - 1}`], n === 3 ? failing('full') : done),
    )
    const text = drawGraph(chain, canvas)
    expect(text).toMatch(/│\n✓ n29 +SUCCEEDED {2}1\.2 s\n✗ n3 {2}DEAD {2}1\.0 s {2}SmtpError: full\n$/)
    expect(drawGraph(chain.slice(0, 10), canvas)).toMatch(/✓ n9 +SUCCEEDED {2}1\.2 s\n$/)
    expect(drawGraph(chain, { ...canvas, height: 100 })).toMatch(/✓ n29 +SUCCEEDED {2}1\.2 s\n$/)
    expect(drawGraph(chain, { ...canvas, height: 50 })).toMatch(/^layer {2}1 /)
  })

  it('says how many share a line', () => {
    const parts = Array.from({ length: 50 }, (_, n) => node(`resize-${n}`, ['split'], done))
    const text = drawGraph(
      [
        node('split', [], done),
        ...parts,
        node(
          'merge',
          parts.map(({ name }) => name),
        ),
      ],
      canvas,
    )
    expect(text).toContain('\n✓ resize-0 … resize-49 (50)  SUCCEEDED\n')
    expect(text.split('\n')).toHaveLength(6)
  })

  it('says why those failed that share a line', () => {
    const parts = (messages: readonly string[]) => messages.map((message, n) => node(`p${n}`, [], failing(message)))
    expect(drawGraph(parts(['full', 'full', 'full', 'full']), canvas)).toBe('✗ p0 … p3 (4)  DEAD  SmtpError: full\n')
    expect(drawGraph(parts(['full', 'gone', 'full', 'lost']), canvas)).toBe(
      '✗ p0 … p3 (4)  DEAD  SmtpError: full (and 2 other reasons)\n',
    )
  })

  it('names what failed by itself where the layers are summed up, in colour where there are colours', () => {
    const starts = Array.from({ length: 400 }, (_, n) => node(`a${n}`, [], n % 33 === 32 ? failing(`no ${n}`) : done))
    const lost = { status: 'FAILED', reason: 'dependency' } as const
    const ends = starts.map(({ name, status }) => node(`b-${name}`, [name], status === 'DEAD' ? lost : done))
    const lines = drawGraph([...starts, ...ends], canvas)
      .trimEnd()
      .split('\n')
    expect(lines).toEqual([
      'layer 1  ✓ 388 SUCCEEDED  ✗ 12 DEAD  a0 … a399',
      'layer 2  ✓ 388 SUCCEEDED  ✗ 12 FAILED  b-a0 … b-a399',
      ...starts
        .flatMap(({ name, error }) => (error ? [`✗ ${name}  DEAD  1.0 s  SmtpError: ${error.message}`] : []))
        .slice(0, 10),
      '  and 2 more that failed',
    ])
    expect(drawGraph([...starts, ...ends], { ...canvas, hasColours: true })).toContain(
      '\n\u001b[31m✗\u001b[39m a32  DEAD',
    )
    for (const line of drawGraph([...starts, ...ends], { ...canvas, width: 30 })
      .split('\n')
      .slice(2)) {
      expect(textWidth(line)).toBeLessThanOrEqual(30)
    }
  })

  it('sums up layers where it would be too large', () => {
    const pairs = Array.from({ length: 400 }, (_, n) => [
      node(`a${n}`, [], n % 2 === 0 ? done : { status: 'PENDING' }),
      node(`b${n}`, [`a${n}`]),
    ]).flat()
    expect(drawGraph(pairs, canvas)).toBe(
      'layer 1  ✓ 200 SUCCEEDED  ● 200 PENDING  a0 … a399\nlayer 2  ○ 400 BLOCKED  b0 … b399\n',
    )
    const starts = pairs.slice(0, 60).filter((_, n) => n % 2 === 0)
    const names = starts.map(({ name }) => name)
    const wide = [...starts, node('gate', names), ...names.map((name) => node(`c-${name}`, [name, 'gate']))]
    expect(drawGraph(wide, canvas)).toMatch(/^layer 1 /)
    expect(drawGraph(wide, { ...canvas, width: 200 })).not.toMatch(/^layer 1 /)
    for (const line of drawGraph(pairs, { ...canvas, width: 40 })
      .trimEnd()
      .split('\n')) {
      expect(line.length).toBeLessThanOrEqual(50)
    }
  })

  describe('of more layers than a look takes in', () => {
    const chainOf = (length: number, more: (n: number) => Partial<WorkflowNodeRecord>) =>
      Array.from({ length }, (_, n) => node(`n${n}`, n === 0 ? [] : [`n${n - 1}`], more(n)))
    const linesOf = (text: string) => text.trimEnd().split('\n')

    it('has a line for those that stand alike, so that what runs is seen in a chain of ten thousand', () => {
      const chain = chainOf(10_000, (n) => (n < 6_000 ? done : n === 6_000 ? { status: 'RUNNING' } : {}))
      expect(linesOf(drawGraph(chain, canvas))).toEqual([
        'layers     1-6000  ✓ 6000 SUCCEEDED  n0 … n5999',
        'layer        6001  ▶ 1 RUNNING  n6000',
        'layers 6002-10000  ○ 3999 BLOCKED  n6001 … n9999',
      ])
      expect(linesOf(drawGraph(chain, { ...canvas, height: 20 }))).toHaveLength(3)
    })

    it('has no more lines than there is room for, however they stand', () => {
      const chain = chainOf(1_000, (n) => (n % 50 === 49 ? failing('full') : n % 2 === 0 ? done : {}))
      const lines = linesOf(drawGraph(chain, canvas))
      expect(lines.length).toBeLessThanOrEqual(40 + 11)
      expect(lines[0]).toMatch(/^layers +1-\d+ {2}✓ \d+ SUCCEEDED {2}○ \d+ BLOCKED/)
      expect(lines.slice(-2)).toEqual(['✗ n499  DEAD  1.0 s  SmtpError: full', '  and 10 more that failed'])
      const counts = lines.flatMap((line) => [...line.matchAll(/(\d+) (?:SUCCEEDED|BLOCKED|DEAD)/g)].map(([, n]) => n))
      expect(counts.reduce((sum, n) => sum + Number(n), 0)).toBe(1_000)
      for (const height of [20, 40]) {
        expect(linesOf(drawGraph(chain, { ...canvas, height })).length).toBeLessThanOrEqual(height)
      }
    })
  })

  it('of ten thousand that are alike has few lines', () => {
    const fan = Array.from({ length: 9_999 }, (_, n) => node(`n${n}`, ['root']))
    expect(drawGraph([node('root'), ...fan], canvas).split('\n')).toHaveLength(4)
  })
})

describe('tellMs', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_234, '1.2 s'],
    [60_000, '1 min'],
    [3_600_000, '1 h 0 min'],
    [5_430_000, '1 h 31 min'],
  ])('%d is %s', (ms, text) => expect(tellMs(ms)).toBe(text))
})
