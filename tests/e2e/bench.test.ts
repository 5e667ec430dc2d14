import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/bench.mjs', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'duly-bench-test-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

interface Result {
  readonly summary: readonly { readonly line: string; readonly figures: Record<string, { readonly median: number }> }[]
}

// Only that it runs and delivers exactly: what it measures at this size means nothing.
it('the benchmark runs all its lines, here on two nodes, and keeps a result', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--small', '--nodes', '2', '--out', folder])
  expect(stdout).toContain('Every task was delivered exactly once.')
  const [file = ''] = await readdir(folder)
  const { summary } = JSON.parse(await readFile(join(folder, file), 'utf8')) as Result
  expect(summary.map(({ line }) => line)).toEqual(['single', 'batch', 'latency', 'drain'])
  for (const { figures } of summary) {
    expect(figures['tasks/s']?.median).toBeGreaterThan(0)
    expect(figures['wal bytes/task']?.median).toBeGreaterThan(100)
    expect(figures['server rss MB']?.median).toBeGreaterThan(10)
  }
})

it('the cost of API keys is measured', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--auth', '--small'])
  expect(stdout).toMatch(/added +-?\d/)
})
