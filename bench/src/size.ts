import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from 'duly'
import pg from 'pg'
import { grains } from '../../packages/server/dist/stats/grains.js'
import { Database } from './database.js'
import { fillRollups } from './fill-rollups.js'
import type { Options } from './options.js'
import { program, Server } from './server.js'
import { type CallsResult, measureCase } from './size-calls.js'
import { casesOf } from './size-cases.js'
import { fillDays, filledDays, fillOpen, openTasks } from './size-fill.js'

export { sizeTable } from './size-calls.js'

export interface SizeResult {
  readonly postgres: Readonly<Record<string, string>>
  /** Open tasks beside the finished ones. */
  readonly open: number
  readonly calls: readonly CallsResult[]
}

const dayMs = 86_400_000

/** Fills a new database with `size` finished tasks and measures what a reader of lists and figures waits for. */
export async function benchSize(options: Options, size: number): Promise<SizeResult> {
  const folder = mkdtempSync(join(tmpdir(), 'duly-bench-size-'))
  chmodSync(folder, 0o755) // PostgreSQL's user looks in
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
  try {
    const postgres = await startPostgres({ dataDir: join(folder, 'postgres') })
    undo.push(() => postgres.stop())
    const firstDayMs = (Math.floor(Date.now() / dayMs) - filledDays - 1) * dayMs
    await fill(postgres.url, size, firstDayMs)
    // the first day is past the usual retention
    const settings = { DULY_RETENTION_DAYS: String(2 * filledDays) }
    const server = await Server.start({ databaseUrl: postgres.url, folder, nodeArguments: [], settings })
    undo.push(() => server.stop())
    const database = await Database.open(postgres.url)
    undo.push(() => database.close())
    const calls: CallsResult[] = []
    for (const each of casesOf(size, firstDayMs)) {
      const results = await measureCase(each, { server, database, calls: options.calls })
      calls.push(...results)
      for (const { name, page, alone, together } of results) {
        console.log(
          `${name}, ${page}: p99 ${alone.p99.toFixed(1)} ms alone, ${together.p99.toFixed(1)} ms with 4 in flight`,
        )
      }
    }
    return { postgres: await database.settings(), open: openTasks(size), calls }
  } finally {
    for (const step of undo.reverse()) await step()
  }
}

async function fill(url: string, size: number, firstDayMs: number): Promise<void> {
  await migrate(url)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await fillDays(client, { size, firstDayMs, log: console.log })
    await fillOpen(client, openTasks(size))
    const rollups = { grains, names: size < 1_000_000 ? 20 : 200, days: 8, writers: 2 }
    await fillRollups((text, values) => client.query(text, values), rollups)
    await client.query('vacuum (analyze) stats_rollups')
    console.log(`filled ${openTasks(size).toLocaleString('en')} open tasks, and figures of ${rollups.names} names`)
    await client.query('checkpoint')
  } finally {
    await client.end()
  }
  // builds whatever index a day lacks: an index of the whole table serves only when every day has it
  await migrate(url)
}

async function migrate(url: string): Promise<void> {
  const env = { ...process.env, DULY_DATABASE_URL: url }
  await promisify(execFile)(process.execPath, [program, 'migrate'], { env })
}
