import { describe, expect, it } from 'vitest'
import { LogBuffer, type WireLine } from './log-buffer.js'
import type { LogLevel } from './task-context.js'

const one = { lease: 'lease-1', task_id: 'task-1' }
const two = { lease: 'lease-2', task_id: 'task-2' }
const texts = (lines: readonly WireLine[]): string[] => lines.map(({ task_id, message }) => `${task_id} ${message}`)

/** A buffer with so many lines of the first task. */
function filled(lines: number): LogBuffer {
  const buffer = new LogBuffer()
  for (let n = 1; n <= lines; n++) buffer.add(one, 'info', String(n))
  return buffer
}

describe('log lines that wait to be sent', () => {
  it('leave in their order, each with its lease and its task', () => {
    const buffer = filled(1)
    buffer.add(two, 'warn', 'x'.repeat(9_000))
    const lines = buffer.take()
    expect(lines).toMatchObject([
      { lease: 'lease-1', task_id: 'task-1', level: 'info', message: '1', at: expect.stringMatching(/Z$/) },
      { lease: 'lease-2', task_id: 'task-2', level: 'warn' },
    ])
    expect(lines[1]?.message).toHaveLength(8_192)
    expect(buffer.size).toBe(0)
  })

  it('without room are counted, and a line of each task says so where they are missing', () => {
    const buffer = filled(1_002)
    buffer.add(two, 'info', 'neither')
    expect(buffer.take()).toHaveLength(1_000)
    buffer.add(one, 'info', 'next')
    expect(texts(buffer.take())).toEqual([
      'task-1 2 lines are missing here: more were written than could be sent',
      'task-2 1 line is missing here: more were written than could be sent',
      'task-1 next',
    ])
    expect(buffer.take()).toEqual([])
  })

  it('that could not be sent stand before what came meanwhile, of which what has no room is counted', () => {
    const buffer = filled(999)
    const load = buffer.take()
    buffer.add(two, 'info', 'fits')
    buffer.add(two, 'info', 'does not')
    buffer.putBack(load)
    const again = buffer.take()
    expect(texts(again).slice(-2)).toEqual(['task-1 999', 'task-2 fits'])
    expect(texts(buffer.take())).toEqual(['task-2 1 line is missing here: more were written than could be sent'])
  })

  it('have a level that the server knows, whatever plain JavaScript gave', () => {
    const buffer = new LogBuffer()
    buffer.add(one, 'fatal' as LogLevel, 'x')
    expect(buffer.take()).toMatchObject([{ level: 'info' }])
  })
})
