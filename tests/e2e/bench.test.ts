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
  expect(summary.map(({ line }) => line)).toEqual(['single', 'batch', 'workflow', 'latency', 'drain'])
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

it('next times of cron expressions are measured beside those of croner', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--cron', '--small'])
  expect(stdout).toMatch(/ours +\d.* of 100\n +croner +\d.* of 5\n/)
})

it('timers are measured while others wait for the far future', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--timers', '2000', '--small'])
  expect(stdout).toMatch(/2000 tasks wait .*\ndue to start, of 300: p50 \d/)
})

it('a burst is measured beside fresh tasks of another queue', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--burst', '2000', '--small'])
  expect(stdout).toMatch(
    /2000 tasks due in one second were started .*\novertaken by .*\nfresh starts of another queue, \d/,
  )
})

it('recurring tasks that are due in one second are measured', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--cron-burst', '500', '--small'])
  expect(stdout).toMatch(/500 definitions due in one second: \d+ firings\/s, each once\nlate by p50 \d/)
})

it('a large workflow is submitted and read, and tells how long the node stood still', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--graph', '1500', '--small'])
  expect(stdout).toMatch(/a workflow of 1500 tasks and 14000 dependencies: .* the longest stall \d.* of CPU \d/)
  expect(stdout).toMatch(/read by 8 at once: \d/)
  expect(stdout).toMatch(/beside [1-9]\d* reads by 8: \d/)
})

it('a workflow that fans out and in is measured', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--fan', '100', '--small'])
  expect(stdout).toMatch(/a workflow of 102 tasks, answered after \d+ ms\nthe first started \d/)
})

it('workflows of tasks in a row are measured', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--chain', '20', '--small'])
  expect(stdout).toMatch(/1 workflows of 20 tasks in a row\na task started p50 \d/)
})

interface SizeResult {
  readonly openTasks: number
  readonly calls: readonly {
    readonly name: string
    readonly page: string
    readonly items: number
    readonly alone: { readonly count: number; readonly max: number }
    readonly together: { readonly count: number }
  }[]
}

it('lists and figures are measured over tasks of every status', async () => {
  const out = join(folder, 'size')
  const args = [script, '--size', '20000', '--calls', '2', '--out', out]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  expect(stdout).toMatch(/\| over 50 ms +\|/)
  const [file = ''] = await readdir(out)
  expect(file).toMatch(/-size\.json$/)
  const { openTasks, calls } = JSON.parse(await readFile(join(out, file), 'utf8')) as SizeResult
  expect(openTasks).toBe(2_000)
  expect(calls.every(({ alone, together }) => alone.count === 2 && together.count === 2 && alone.max > 0)).toBe(true)
  const itemsOf = (page: string) =>
    Object.fromEntries(calls.flatMap((each) => (each.page === page ? [[each.name, each.items]] : [])))
  const full = [
    'all',
    'tenant-0',
    'tenant-small',
    'SUCCEEDED',
    'tenant-0, SUCCEEDED',
    'tenant-small, SUCCEEDED',
    'workflow',
  ]
  const statuses = ['SCHEDULED', 'PENDING', 'BLOCKED', 'RETRYING', 'FAILED', 'DEAD', 'CANCELLED']
  for (const name of [...full, ...statuses]) expect(itemsOf('first')[name], name).toBe(50)
  // 2 % of the open ones; 20 crons share a fiftieth of the finished ones
  expect(itemsOf('first')).toMatchObject({ RUNNING: 40, cron: 20 })
  for (const name of [...full, ...statuses]) expect(itemsOf('deep')[name], name).toBeGreaterThan(0)
  const figures = itemsOf('whole')
  expect(Object.keys(figures)).toHaveLength(12)
  expect(figures).toMatchObject({ 'stats, 5 min': 0, 'stats, 24 h by tenant': 20, 'stats, 7 days by queue': 20 })
}, 240_000)
