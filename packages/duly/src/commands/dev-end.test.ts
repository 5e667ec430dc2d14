import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { areGone, DevProcess, eventually } from '../testing/dev-process.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'duly-dev-'))
  await chmod(folder, 0o755) // run by root, PostgreSQL's own user must be able to pass through
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('the end', () => {
  it('by a signal to the whole process group: in order, clean, and nothing is left', async () => {
    const own = await DevProcess.start(join(folder, 'own'))
    expect(await own.end('SIGTERM')).toBe(0)
    const stops = own.lines.map((line) => JSON.parse(line)).filter(({ msg }) => /^stopped /.test(msg ?? ''))
    expect(stops.filter(({ name }) => name === 'duly').map(({ msg }) => msg)).toEqual([
      'stopped the worker',
      'stopped the server',
      'stopped PostgreSQL',
    ])
    expect(await areGone(own.pids)).toBe(true)
  })

  it('by SIGKILL: the worker and PostgreSQL follow within seconds', async () => {
    const own = await DevProcess.start(join(folder, 'own'))
    onTestFinished(() => void own.end('SIGKILL'))
    own.child.kill('SIGKILL')
    await eventually('all are gone', () => areGone(own.pids))
  })
})
