import type { WorkflowNodeRecord } from '@duly/sdk'
import { describe, expect, it } from 'vitest'
import { textWidth } from '../text-width.js'
import { drawGraph, tellMs } from './draw-graph.js'

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

  it('sums up layers where it would be too large', () => {
    const pairs = Array.from({ length: 400 }, (_, n) => [
      node(`a${n}`, [], n % 2 === 0 ? done : { status: 'PENDING' }),
      node(`b${n}`, [`a${n}`]),
    ]).flat()
    expect(drawGraph(pairs, canvas)).toBe(
      'layer 1  ✓ 200 SUCCEEDED  ● 200 PENDING  a0 … a399\nlayer 2  ○ 400 BLOCKED  b0 … b399\n',
    )
    const wide = pairs.slice(0, 60)
    expect(drawGraph(wide, canvas)).toMatch(/^layer 1 /)
    expect(drawGraph(wide, { ...canvas, width: 200 })).not.toMatch(/^layer 1 /)
    for (const line of drawGraph(pairs, { ...canvas, width: 40 })
      .trimEnd()
      .split('\n')) {
      expect(line.length).toBeLessThanOrEqual(50)
    }
  })

  it('goes down a chain of a thousand, and draws ten thousand in no time worth telling', () => {
    const chain = Array.from({ length: 1_000 }, (_, n) => node(`n${n}`, n === 0 ? [] : [`n${n - 1}`]))
    expect(drawGraph(chain, canvas).split('\n')).toHaveLength(1_001)
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
