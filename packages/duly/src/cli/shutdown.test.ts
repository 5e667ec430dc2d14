import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import { exitOfSignal, SAME_SIGNAL_MS, stopInOrder, untilSignal } from './shutdown.js'

describe('signals', () => {
  it('arriving several times at once are one; a later one forces the exit', async () => {
    const source = new EventEmitter()
    const forced: string[] = []
    let now = 0
    const first = untilSignal(
      source,
      (signal) => forced.push(signal),
      () => now,
    )
    source.emit('SIGTERM', 'SIGTERM')
    source.emit('SIGTERM', 'SIGTERM')
    now = SAME_SIGNAL_MS - 1
    source.emit('SIGINT', 'SIGINT')
    expect(await first).toBe('SIGTERM')
    expect(forced).toEqual([])
    now = SAME_SIGNAL_MS
    source.emit('SIGINT', 'SIGINT')
    expect(forced).toEqual(['SIGINT'])
    expect(exitOfSignal('SIGINT')).toBe(130)
  })
})

describe('stopping', () => {
  it('goes in order, each step after the one before, and past a step that fails', async () => {
    const seen: string[] = []
    const step = (name: string, fails = false) => ({
      name,
      stop: async () => {
        seen.push(`${name} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        seen.push(`${name} ends`)
        if (fails) throw new Error('stuck')
      },
    })
    const lines: string[] = []
    const clean = await stopInOrder([step('worker'), step('server', true), step('database')], (line) =>
      lines.push(line),
    )
    expect(clean).toBe(false)
    expect(seen).toEqual(['worker', 'server', 'database'].flatMap((name) => [`${name} begins`, `${name} ends`]))
    expect(lines).toEqual(['stopped worker', 'could not stop server: stuck', 'stopped database'])
  })

  it('tells of a step in its own words, asked once it is done', async () => {
    const lines: string[] = []
    let isDone = false
    const stop = async () => {
      isDone = true
    }
    const told = () => `left it running: ${isDone}`
    await stopInOrder([{ name: 'database', stop, told }], (line) => lines.push(line))
    expect(lines).toEqual(['left it running: true'])
  })
})
