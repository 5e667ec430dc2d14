import { createLogger, resolveConfig, startNode } from '@duly/server'
import { describe, expect, it } from 'vitest'
import { startRunningClock } from '../../../sdk/src/testing/running-time.js'
import { runUntilSignal } from './run-until-signal.js'

function tree() {
  const seen: string[] = []
  const part =
    (name: string, start: () => void = () => {}) =>
    async () => {
      start()
      seen.push(`start ${name}`)
      return {
        name,
        stop: async () => {
          seen.push(`stop ${name}`)
        },
      }
    }
  return { seen, part, log: (line: string) => void seen.push(line) }
}

describe('a tree of parts', () => {
  it('starts in order, runs until it is told, and stops in the opposite order', async () => {
    const { seen, part, log } = tree()
    let tell = (_reason: string) => {}
    const until = new Promise<string>((resolve) => {
      tell = resolve
    })
    const starters = [part('database'), part('server'), async () => undefined, part('worker')]
    const run = runUntilSignal({ starters, onReady: () => tell('told'), log, until })
    expect(await run).toBe(true)
    expect(seen.filter((line) => /^st(art|op) /.test(line))).toEqual([
      'start database',
      'start server',
      'start worker',
      'stop worker',
      'stop server',
      'stop database',
    ])
  })

  it('stops what has started when a part fails to', async () => {
    const { seen, part, log } = tree()
    const failing = part('server', () => {
      throw new Error('port taken')
    })
    const run = runUntilSignal({ starters: [part('database'), failing, part('worker')], onReady: () => {}, log })
    await expect(run).rejects.toThrow('port taken')
    expect(seen).toEqual(['start database', 'stop database', 'stopped database'])
  })

  it('starts no more once it is told to stop, and passes on why it could not go on', async () => {
    const { seen, part, log } = tree()
    let fail = (_error: Error) => {}
    const until = new Promise<string>((_, reject) => {
      fail = reject
    })
    const server = async () => {
      fail(new Error('refused'))
      await new Promise((resolve) => setImmediate(resolve))
      return part('server')()
    }
    let isReady = false
    const onReady = () => {
      isReady = true
    }
    const run = runUntilSignal({ starters: [part('database'), server, part('worker')], onReady, log, until })
    await expect(run).rejects.toThrow('refused')
    expect(isReady).toBe(false)
    expect(seen.filter((line) => line.startsWith('stop '))).toEqual(['stop server', 'stop database'])
    expect(seen).not.toContain('start worker')
  })

  it('asked to stop while its database cannot be reached, ends at once and clean; the wait is one line of the log', async () => {
    const { seen, part, log } = tree()
    const lines: string[] = []
    let tell = (_reason: string) => {}
    const until = new Promise<string>((resolve) => {
      tell = resolve
    })
    const destination = {
      write(line: string) {
        if (lines.push(line) === 1) setTimeout(() => tell('told'), 400) // after tries at 0, 100 and 300 ms
      },
    }
    const config = resolveConfig({ flags: { databaseUrl: 'postgres://u:p@127.0.0.1:1/x', port: 0 } })
    const logger = createLogger({ level: 'info', destination })
    const server = async (signal: AbortSignal) => {
      const node = await startNode(config, { logger, signal })
      return { name: 'server', stop: () => node.stop() }
    }
    let elapsed = () => Number.NaN
    const run = runUntilSignal({
      starters: [part('database'), server],
      onReady: () => seen.push('ready'),
      log,
      until: until.finally(() => {
        elapsed = startRunningClock()
      }),
    })
    expect(await run).toBe(true)
    expect(elapsed()).toBeLessThan(10_000)
    expect(seen).not.toContain('ready')
    expect(seen.at(-1)).toBe('stopped database')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', why: expect.stringContaining('ECONNREFUSED') })
    expect(lines[0]).not.toContain('stack')
  })
})
