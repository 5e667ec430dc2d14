import { type TaskStatus, taskStatuses } from '@duly/domain'
import type { BulkRecord } from '@duly/sdk'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Pace } from './pace.js'
import { bulkLine, ProgressDisplay, progressLine } from './progress-line.js'
import { Tally } from './tally.js'
import type { Terminal } from './terminal.js'
import { FEW, LOOKS_A_SECOND, LOOKS_AT_ONCE, type Look, waitSecondsFor, watchTasks } from './watch-tasks.js'

const statuses = taskStatuses.map(({ name }) => name)

function screen(isInteractive: boolean): { terminal: Terminal; text: () => string } {
  let text = ''
  const err = (more: string) => {
    text += more
  }
  const terminal = {
    out: () => {},
    err,
    isInteractive,
    width: 60,
    hasColours: false,
    height: null,
    isPlain: false,
    env: {},
    readStdin: async () => '',
    isTaken: async () => true,
  }
  return { terminal, text: () => text }
}

describe('the tally', () => {
  it('always equals a count of what was noted last', () => {
    const notes = fc.array(fc.tuple(fc.integer({ min: 0, max: 20 }).map(String), fc.constantFrom(...statuses)))
    fc.assert(
      fc.property(notes, (noted) => {
        const tally = new Tally(21)
        for (const [id, status] of noted) tally.note(id, status)
        const last = [...new Map(noted).values()]
        for (const status of statuses) expect(tally.count(status)).toBe(last.filter((one) => one === status).length)
        expect(tally.known).toBe(last.length)
        expect(tally.finished + tally.open.size).toBe(tally.known)
      }),
    )
  })
})

describe('the progress line', () => {
  const tally = new Tally(4)
  tally.note('a', 'SUCCEEDED')
  tally.note('b', 'RUNNING')
  tally.note('c', 'DEAD')

  it('counts by status in the order of a life', () => {
    expect(progressLine(tally, 4)).toBe('[██████████··········] 2/4 finished · 1 running · 1 succeeded · 1 dead')
    expect(progressLine(new Tally(0), 0)).toContain('0/0')
  })

  it('is redrawn for a person, never wider than the screen, and ended once', () => {
    const { terminal, text } = screen(true)
    let now = 0
    const display = new ProgressDisplay(terminal, () => now)
    display.show(tally, 4)
    now = 50
    display.show(tally, 4)
    now = 150
    display.show(tally, 4)
    display.show(tally, 4, true)
    const draws = text().split('\r\u001b[2K').slice(1)
    expect(draws).toHaveLength(3)
    expect(draws.every((line) => line.trimEnd().length < 60)).toBe(true)
    expect(text().split('\n')).toHaveLength(2)
  })

  it('gives way to a note, which stays', () => {
    const { terminal, text } = screen(true)
    const display = new ProgressDisplay(terminal, () => 0)
    display.show(tally, 4)
    display.note('nobody serves it\n')
    expect(text().endsWith('\r\u001b[2Knobody serves it\n')).toBe(true)
    const log = screen(false)
    new ProgressDisplay(log.terminal, () => 0).note('nobody serves it\n')
    expect(log.text()).toBe('nobody serves it\n')
  })

  it('is a line a second in a log, and says nothing twice', () => {
    const { terminal, text } = screen(false)
    let now = 0
    const display = new ProgressDisplay(terminal, () => now)
    for (; now < 3_000; now += 100) display.show(tally, 4)
    expect(text()).toBe(`${progressLine(tally, 4)}\n`)
  })
})

function tallyOf(count: number): Tally {
  const tally = new Tally(count)
  for (let id = 0; id < count; id += 1) tally.note(String(id), 'PENDING')
  return tally
}

describe('the line of an operation on many tasks', () => {
  const record = { status: 'RUNNING', matched: 8, done: 7, skipped: 1, failed: 0 } as BulkRecord
  const lineOf = (count: number, isAtLeast: boolean, over: Partial<BulkRecord> = {}): string =>
    bulkLine({ ...record, ...over }, { count, isAtLeast }, 80)

  it('has a bar that is full at the end alone, and names no total that nobody knows', () => {
    expect(lineOf(16, false)).toBe('[██████████··········] 8/16 · 7 done · 1 skipped')
    expect(lineOf(16, true)).toBe('[█████████··········…] 8 of more than 16 · 7 done · 1 skipped')
    expect(lineOf(4, true)).toBe('[███████████████████…] 8 of more than 8 · 7 done · 1 skipped')
    expect(lineOf(0, true, { matched: 0, done: 0, skipped: 0 })).toBe(`[${'·'.repeat(19)}…] 0 of more than 0 · 0 done`)
    expect(lineOf(4, true, { status: 'SUCCEEDED' })).toBe(`[${'█'.repeat(20)}] 8/8 · 7 done · 1 skipped · SUCCEEDED`)
    expect(bulkLine(record, null, 80)).toBe('8 so far · 7 done · 1 skipped')
  })

  it('gives up the bar, then the parts, where the screen is narrow', () => {
    const at = (width: number): string => bulkLine(record, { count: 16, isAtLeast: false }, width)
    expect([60, 40, 20].map(at)).toEqual([at(80), '8/16 · 7 done · 1 skipped', '8/16'])
  })
})

describe('the pace', () => {
  it('lets no more happen in any second than it should, and saves nothing up', () => {
    let now = 0
    const pace = new Pace(150, () => now)
    const times = Array.from({ length: 300 }, () => pace.take())
    for (const at of times) expect(times.filter((other) => other >= at && other < at + 999.9).length).toBeLessThan(151)
    now = 60_000
    expect(pace.take()).toBe(0)
    expect(pace.take()).toBeGreaterThan(6)
  })
})

describe('watching tasks', () => {
  it('asks about each in turn, about none again after its end, and no more often than it may', async () => {
    const tally = tallyOf(200)
    const looked: string[] = []
    let underWay = 0
    const statusOf = async (id: string, { waitSeconds }: Look): Promise<TaskStatus> => {
      looked.push(id)
      underWay += 1
      expect(underWay).toBeLessThanOrEqual(LOOKS_AT_ONCE)
      expect(waitSeconds).toBe(waitSecondsFor(tally.open.size))
      await new Promise((resolve) => setImmediate(resolve))
      underWay -= 1
      return Number(id) % 10 === 0 && looked.length <= 200 ? 'RUNNING' : 'SUCCEEDED'
    }
    const began = performance.now()
    await watchTasks(tally, { statusOf, onChange: () => {}, isComplete: () => true })
    expect(tally.counts()).toEqual({ SUCCEEDED: 200 })
    const tens = Array.from({ length: 20 }, (_, n) => String(n * 10))
    // In rounds; within one, two timers that ring in the same millisecond may change places.
    expect(looked.slice(0, 200).sort()).toEqual([...tallyOf(200).open].sort())
    expect(looked.slice(200).sort()).toEqual(tens.sort())
    expect(looked.length / ((performance.now() - began) / 1_000)).toBeLessThan(LOOKS_A_SECOND * 1.02)
  })

  it('lets the server hold its answers once few are left, so that a round still takes a second', () => {
    expect([FEW + 1, 10_000].map(waitSecondsFor)).toEqual([0, 0])
    expect([0, 1, LOOKS_AT_ONCE].map(waitSecondsFor)).toEqual([1, 1, 1])
    for (let open = LOOKS_AT_ONCE; open <= FEW; open += 1)
      expect((waitSecondsFor(open) * open) / LOOKS_AT_ONCE).toBeCloseTo(1)
  })

  it('sees the end of the last as soon as the server tells it', async () => {
    const tally = tallyOf(3)
    let end = () => {}
    const ended = new Promise<TaskStatus>((resolve) => {
      end = () => resolve('SUCCEEDED')
    })
    const looked: string[] = []
    const statusOf = (id: string) => {
      looked.push(id)
      if (looked.length === 3) end()
      return ended
    }
    await watchTasks(tally, { statusOf, onChange: () => {}, isComplete: () => true })
    expect(looked).toEqual(['0', '1', '2'])
  })

  it('goes on while more may come', async () => {
    const tally = new Tally(1)
    let isComplete = false
    const watching = watchTasks(tally, {
      statusOf: async () => 'SUCCEEDED',
      onChange: () => {
        isComplete = true
      },
      isComplete: () => isComplete,
    })
    tally.note('late', 'PENDING')
    await watching
    expect(tally.finished).toBe(1)
  })

  it('stops at once when it is told to, with looks under way too', async () => {
    const stop = new AbortController()
    const statusOf = (_id: string, { signal }: Look) =>
      new Promise<TaskStatus>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        stop.abort()
      })
    const options = { statusOf, onChange: () => {}, isComplete: () => true, signal: stop.signal }
    await watchTasks(tallyOf(3), options)
    await watchTasks(tallyOf(3), { ...options, statusOf: async () => 'RUNNING' })
  })

  it('passes a failure on, and then asks no more', async () => {
    let looks = 0
    const statusOf = async (): Promise<TaskStatus> => {
      looks += 1
      throw new Error('no answer')
    }
    const options = { statusOf, onChange: () => {}, isComplete: () => true }
    await expect(watchTasks(tallyOf(100), options)).rejects.toThrow('no answer')
    expect(looks).toBe(1)
  })
})
