import { describe, expect, it } from 'vitest'
import { keepRunning, type Part } from './keep-running.js'

interface TestPart extends Part {
  readonly number: number
  end(): void
  isStopped: boolean
}

function parts(failures: readonly number[] = []) {
  const made: TestPart[] = []
  let starts = 0
  const waiters: (() => void)[] = []
  const start = async () => {
    starts += 1
    if (failures.includes(starts)) throw new Error(`start ${starts} fails`)
    let end = () => {}
    const exited = new Promise<void>((resolve) => {
      end = resolve
    })
    const part: TestPart = {
      number: starts,
      exited,
      end,
      isStopped: false,
      async stop() {
        part.isStopped = true
        end()
      },
    }
    made.push(part)
    for (const wake of waiters.splice(0)) wake()
    return part
  }
  const nextStart = () => new Promise<void>((resolve) => waiters.push(resolve))
  return { made, start, nextStart }
}

describe('a part that is kept running', () => {
  it('is started again when it ends, also past failing starts, until it is stopped', async () => {
    const { made, start, nextStart } = parts([2, 3])
    const lines: string[] = []
    const kept = await keepRunning({ name: 'it', start, log: (line) => lines.push(line), delayMs: 1 })
    const restarted = nextStart()
    made[0]?.end()
    await restarted
    expect(lines).toEqual([
      'it ended unexpectedly: starting it again',
      'it could not be started: start 2 fails',
      'it could not be started: start 3 fails',
    ])
    await kept.stop()
    expect(kept.current).toMatchObject({ number: 4, isStopped: true })
    expect(made).toHaveLength(2)
  })

  it('stops at once while it waits for its restart', async () => {
    const { made, start } = parts()
    let isWaiting = () => {}
    const waiting = new Promise<void>((resolve) => {
      isWaiting = resolve
    })
    const kept = await keepRunning({ name: 'it', start, log: () => isWaiting(), delayMs: 60_000 })
    made[0]?.end()
    await waiting
    await kept.stop()
    expect(made).toHaveLength(1)
  })

  it('can be let go without ending', async () => {
    const part = { exited: new Promise(() => {}), stop: async () => {} }
    const kept = await keepRunning({ name: 'it', start: async () => part, log: () => {} })
    await kept.stop()
    expect(kept.current).toBe(part)
  })

  it('says how it ended, by what its end gave', async () => {
    const said: string[] = []
    const exits = [Promise.resolve([0, null]), new Promise(() => {})]
    let isRestarted = () => {}
    const restarted = new Promise<void>((resolve) => {
      isRestarted = resolve
    })
    const start = async () => {
      const exited = exits.shift() ?? Promise.reject(new Error('it was started a third time'))
      if (exits.length === 0) isRestarted()
      return { exited, stop: async () => {} }
    }
    const howEnded = (exit: unknown) => `ended with ${JSON.stringify(exit)}`
    const kept = await keepRunning({ name: 'it', start, log: (line) => said.push(line), howEnded, delayMs: 1 })
    await restarted
    await kept.stop()
    expect(said).toEqual(['it ended with [0,null]: starting it again'])
  })

  it('leaves a failing first start to its caller', async () => {
    const { start } = parts([1])
    await expect(keepRunning({ name: 'it', start, log: () => {} })).rejects.toThrow('start 1 fails')
  })
})
