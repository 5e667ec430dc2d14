import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type HttpNode, openStore, startHttpNode } from '../../../server/src/dispatch/testing/http-node.js'
import { cli } from '../testing/captured-cli.js'
import { plainEnvironment } from '../testing/plain-environment.js'

const PROGRAM = fileURLToPath(new URL('../../bin/duly.js', import.meta.url))
const WORKER = fileURLToPath(new URL('../../../../examples/worker.mjs', import.meta.url))

let node: HttpNode
beforeAll(async () => {
  node = await startHttpNode((await openStore()).url)
})

const run = (...args: string[]) => cli([...args, '--url', node.url])
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).out)

describe('duly queue', () => {
  it('lists, shows, pauses and resumes', async () => {
    expect((await run('queue', 'list')).out).toMatch(/No queue yet/)
    expect((await run('queue', 'get', 'a/b:c')).code).toBe(4)
    const slip = await run('queue', 'pause', 'a/b:d')
    expect([slip.code, slip.err]).toEqual([0, expect.stringContaining('there was no queue a/b:d before')])
    expect(await json('queue', 'pause', 'a/b:d')).toMatchObject({ created: false })
    expect((await run('queue', 'resume', 'a/b:e')).code).toBe(4)
    expect((await run('queue', 'pause', 'a/b:c')).out).toMatch(/^queue +a\/b:c\nstate +paused/)
    await node.api.submit({ queue: 'a/b:c', priority: 'high', metadata: { tenant_id: 'acme' } })
    expect((await run('queue', 'list')).out).toMatch(/\na\/b:c +paused +1 +1 +0 +0 +0 +\d+ s\n/)
    expect((await run('queue', 'get', 'a/b:c')).out).toMatch(/TENANT +WAITING\nacme +1\n/)
    expect(await json('queue', 'resume', 'a/b:c')).toMatchObject({
      name: 'a/b:c',
      paused: false,
      depth_by_tenant: [{ tenant_id: 'acme' }],
    })
  })

  it('purges with --yes only, and says what it would do', async () => {
    await run('queue', 'pause', 'full')
    await node.api.submitBatch(Array.from({ length: 40 }, () => ({ queue: 'full' })))
    const refused = await run('queue', 'purge', 'full')
    expect(refused).toMatchObject({ code: 2, out: '' })
    expect(refused.err).toMatch(/would cancel 40 waiting tasks of full\nAdd --yes/)
    expect((await run('queue', 'purge', 'full', '--json')).code).toBe(2)
    expect(await run('queue', 'purge', 'full', '--yes')).toEqual({
      ...{ code: 0, out: 'full  40 tasks cancelled\n', err: '' },
    })
    expect(await json('queue', 'purge', 'full', '--yes')).toEqual({ cancelled: 0, remaining: 0 })
    expect((await run('queue', 'purge', 'none', '--yes')).code).toBe(4)
    await node.api.submitBatch([{ queue: 'full' }])
    expect((await run('queue', 'purge', 'full')).err).toMatch(/would cancel 1 waiting task of full\n/)
    expect((await run('queue', 'purge', 'full', '--yes')).out).toBe('full  1 task cancelled\n')
  })
})

describe('duly cluster', () => {
  it('shows the nodes and who leads, and all partitions in --json', async () => {
    const { code, out } = await run('cluster')
    expect(code).toBe(0)
    expect(out).toMatch(/^store +postgresql \d+.*, healthy, [\d.]+ ms\n/)
    expect(out).toMatch(/\npartitions +64, \d+ led\n/)
    expect(out).toMatch(/\nNODE +ID +ROLES .*\n0 +[0-9a-f-]{36} +api,scheduler /)
    const record = await json('cluster')
    expect(record).toMatchObject({ partition_count: 64, nodes: [{ number: 0, alive: true }] })
    expect(record.partitions).toHaveLength(64)
  })
})

describe('duly stats', () => {
  it('shows rates by name, and what waits now', async () => {
    await node.api.submitBatch(Array.from({ length: 3 }, () => ({ queue: 'counted', task_type: 'odd' })))
    const { code, out } = await run('stats', '--window', '15m', '--by', 'queue')
    expect(code).toBe(0)
    expect(out).toMatch(/\nQUEUE +SUBMITTED\/s .*\n\(all\) +\d+\.\d\d/)
    expect(out).toMatch(/\ncounted +0\.00 +0\.00 +0\.00 +- +- +- +3 +0\n/)
    const types = await json('stats', '--by', 'type')
    expect(types.items.find(({ name }: { name: string }) => name === 'odd')).toMatchObject({
      submitted: 3,
      depth: null,
    })
    expect(types).toMatchObject({
      by: 'task_type',
      from: expect.stringMatching(/Z$/),
      totals: { submitted_per_second: expect.any(Number) },
    })
    expect((await run('stats', '--window', '1s')).code).toBe(2)
    expect((await run('stats', '--by', 'colour')).code).toBe(2)
  })
})

describe('duly worker', () => {
  it('lists a running worker; drained, its process ends by itself with 0 and a clear line', async () => {
    expect((await run('worker', 'list')).out).toBe('No worker.\n')
    const child = spawn(process.execPath, [PROGRAM, 'worker', WORKER, '--url', node.url], {
      env: plainEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let said = ''
    const registered = new Promise<string>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on('data', (chunk: Buffer) => {
          said += chunk.toString()
          const [, id] = /registered as (worker-\w+)/.exec(said) ?? []
          if (id !== undefined) resolve(id)
        })
      }
    })
    const exited = once(child, 'close')
    const id = await registered
    expect((await run('worker', 'list')).out).toMatch(new RegExp(`\\n${id} .* live +0/\\d+ +\\d+ s`))
    expect(await json('worker', 'list', '--state', 'draining')).toEqual({ items: [], next_cursor: null })
    expect((await run('worker', 'drain', id)).out).toMatch(/state +draining/)
    expect(await exited).toEqual([0, null])
    expect(said).toMatch(new RegExp(`the server drains ${id}: finishing what runs, then leaving`))
    expect(await json('worker', 'get', id)).toMatchObject({ worker_id: id, state: 'left' })
    expect((await run('worker', 'drain', id)).code).toBe(0)
    expect((await run('worker', 'list', '--state', 'dead')).code).toBe(2)
  })
})
