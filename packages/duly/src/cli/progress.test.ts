import { type TaskStatus, taskStatuses } from '@duly/domain'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ProgressDisplay, progressLine } from './progress-line.js'
import { Tally } from './tally.js'
import type { Terminal } from './terminal.js'
import { turn, watchTasks } from './watch-tasks.js'

const statuses = taskStatuses.map(({ name }) => name)

function screen(isInteractive: boolean): { terminal: Terminal; text: () => string } {
  let text = ''
  const err = (more: string) => {
    text += more
  }
  const terminal = { out: () => {}, err, isInteractive, width: 60, env: {}, readStdin: async () => '' }
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
        expect(tally.finished + tally.open.length).toBe(tally.known)
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

  it('is a line a second in a log, and says nothing twice', () => {
    const { terminal, text } = screen(false)
    let now = 0
    const display = new ProgressDisplay(terminal, () => now)
    for (; now < 3_000; now += 100) display.show(tally, 4)
    expect(text()).toBe(`${progressLine(tally, 4)}\n`)
  })
})

describe('watching tasks', () => {
  it('takes turns, so that a long wait of some hides no other', () => {
    const ids = ['a', 'b', 'c', 'd', 'e']
    expect(turn(ids, undefined, 2)).toEqual(['a', 'b'])
    expect(turn(ids, 'd', 3)).toEqual(['d', 'e', 'a'])
    expect(turn(ids, 'gone', 2)).toEqual(['a', 'b'])
    expect(turn([], 'a', 2)).toEqual([])
  })

  it('ends when all have ended and no more will come', async () => {
    const tally = new Tally(300)
    for (let id = 0; id < 300; id += 1) tally.note(String(id), 'PENDING')
    const looks = new Map<string, number>()
    const statusOf = async (id: string): Promise<TaskStatus> => {
      looks.set(id, (looks.get(id) ?? 0) + 1)
      return Number(id) % 10 === 0 && looks.get(id) === 1 ? 'RUNNING' : 'SUCCEEDED'
    }
    let rounds = 0
    const onChange = () => {
      rounds += 1
    }
    await watchTasks(tally, { statusOf, onChange, isComplete: () => rounds > 0 })
    expect(tally.counts()).toEqual({ SUCCEEDED: 300 })
    expect(Math.max(...looks.values())).toBe(2)
  })

  it('stops at once when it is told to, and passes a failure on', async () => {
    const tally = new Tally(1)
    tally.note('a', 'RUNNING')
    const options = { statusOf: async (): Promise<TaskStatus> => 'RUNNING', onChange: () => {}, isComplete: () => true }
    await watchTasks(tally, { ...options, signal: AbortSignal.abort() })
    const failing = { ...options, statusOf: async () => Promise.reject(new Error('no answer')) }
    await expect(watchTasks(tally, failing)).rejects.toThrow('no answer')
  })
})
