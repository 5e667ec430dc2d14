import { once } from 'node:events'
import { access, chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../../tests/support/ports.js'
import { eventually } from '../testing/dev-process.js'
import { isAlive } from './postmaster-file.js'
import { probe } from './probe.js'
import { type EmbeddedPostgres, startPostgres } from './start-postgres.js'
import { startElsewhere } from './testing/elsewhere.js'

const isRoot = process.getuid?.() === 0
const NOBODY = 65_534

let dataDir: string

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'duly-postgres-'))
})

/** What a test started, to be undone in the opposite order, before its folder goes. */
const undoes: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const undo of undoes.splice(0).reverse()) await undo()
  await rm(dataDir, { recursive: true, force: true })
})

async function start(options: Partial<Parameters<typeof startPostgres>[0]> = {}): Promise<EmbeddedPostgres> {
  const postgres = await startPostgres({ dataDir, ...options })
  undoes.push(() => postgres.stop('immediate'))
  return postgres
}

async function query(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client(url)
  await client.connect()
  const result = await client.query({ text: sql, rowMode: 'array' })
  await client.end()
  return result.rows[0]?.[0]
}

describe('a fresh data folder', () => {
  it('gives a durable UTF-8 database behind a password, and keeps its data over a restart', async () => {
    const first = await start()
    expect(first.reused).toBe(false)
    expect(await query(first.url, 'SHOW server_encoding')).toBe('UTF8')
    expect(await query(first.url, 'SELECT datcollate FROM pg_database WHERE datname = current_database()')).toBe('C')
    expect(await query(first.url, 'SHOW fsync')).toBe('on')
    expect(await query(first.url, 'SHOW synchronous_commit')).toBe('on')
    expect(await query(first.url, 'SHOW listen_addresses')).toBe('127.0.0.1')
    await expect(query(first.url.replace(/:[0-9a-f]{48}@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(/password/)
    expect((await stat(join(dataDir, 'postgres', 'duly.password'))).mode & 0o777).toBe(0o600)
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n')
    await query(first.url, 'CREATE EXTENSION pg_stat_statements')
    await first.stop()
    expect(await probe(first.port)).toBe('silent')
    await expect(first.exited).resolves.toBeUndefined()

    const second = await start()
    expect(await query(second.url, 'SELECT n FROM kept')).toBe(7)
    expect(Number(await query(second.url, 'SELECT count(*) FROM pg_stat_statements'))).toBeGreaterThanOrEqual(0)
  })

  it('is made once when two start at the same instant', async () => {
    const [one, two] = await Promise.all([start(), start()])
    expect(one.pid).toBe(two.pid)
    expect(await query(one.url, 'SELECT 1')).toBe(1)
    expect([one.reused, two.reused].sort()).toEqual([false, true])
  })
})

describe('a server that runs already', () => {
  it('is shared, and left to the process that started it', async () => {
    const other = await startElsewhere(dataDir)
    undoes.push(() => other.end())
    const ours = await start()
    expect(ours).toMatchObject({ reused: true, pid: other.told.pid, port: other.told.port })
    await ours.stop()
    expect(await query(other.told.url, 'SELECT 1')).toBe(1)
    await expect(start({ port: other.told.port === 5_433 ? 5_434 : 5_433 })).rejects.toThrow(
      `at port ${other.told.port}`,
    )
  })

  it('is adopted, and stopped in the end, when its starter is gone', async () => {
    // Without setpriv on the PATH nothing ties the server to its parent, as on systems that don't have it.
    const other = await startElsewhere(dataDir, { path: '/nonexistent' })
    await other.kill()
    expect(await probe(other.told.port)).toBe('ready')
    const ours = await start()
    expect(ours).toMatchObject({ reused: true, pid: other.told.pid })
    await ours.stop()
    expect(await isAlive(other.told.pid)).toBe(false)
    await expect(ours.exited).resolves.toBeUndefined()
  })
})

describe('sudden ends', () => {
  it.runIf(process.platform === 'linux')('a starter killed by SIGKILL takes the server with it, cleanly', async () => {
    const other = await startElsewhere(dataDir)
    await other.kill()
    await eventually('the server is gone', async () => !(await isAlive(other.told.pid)))
    await expect(access(join(dataDir, 'postgres', 'postmaster.pid'))).rejects.toThrow('ENOENT')
    expect(await readFile(join(dataDir, 'postgres.log'), 'utf8')).toContain('database system is shut down')
  })

  it('a signal to the whole process group leaves the server up until its starter stops it', async () => {
    const other = await startElsewhere(dataDir)
    const ended = once(other.child, 'exit')
    process.kill(-(other.child.pid as number), 'SIGTERM')
    expect(await other.line()).toBe('ready')
    expect(await ended).toEqual([0, null])
    expect(await isAlive(other.told.pid)).toBe(false)
  })

  it('a killed server can be started again at once, with all that was committed', async () => {
    const first = await start({ port: await freePort() })
    await query(first.url, 'CREATE TABLE kept AS SELECT 7 AS n')
    const client = new pg.Client(first.url)
    client.on('error', () => {})
    await client.connect()
    process.kill(first.pid, 'SIGKILL')
    const second = await start({ port: first.port })
    expect(second.port).toBe(first.port)
    expect(await query(second.url, 'SELECT n FROM kept')).toBe(7)
    await expect(first.exited).resolves.toBeUndefined()
    await client.end()
  })

  it('a pid file whose number belongs to a stranger by now is no obstacle', async () => {
    const first = await start()
    const file = join(dataDir, 'postgres', 'postmaster.pid')
    const text = await readFile(file, 'utf8')
    await first.stop()
    await writeFile(file, text.replace(/^\d+/, String(process.pid)))
    expect(await query((await start()).url, 'SELECT 1')).toBe(1)
  })
})

describe('who runs it', () => {
  it('a user who is not root runs it under his own name', async () => {
    if (isRoot) await chown(dataDir, NOBODY, NOBODY)
    const prefix = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--'] : []
    const other = await startElsewhere(dataDir, { prefix })
    undoes.push(() => other.end())
    expect((await stat(join(dataDir, 'postgres'))).uid).toBe(isRoot ? NOBODY : process.getuid?.())
    expect(await query(other.told.url, 'SELECT 1')).toBe(1)
  })
})

describe('clear words', () => {
  it('for settings that durability rests on', async () => {
    await expect(start({ settings: { fsync: 'off' } })).rejects.toThrow("PostgreSQL's fsync is always on")
  })

  it('for a port that is taken', async () => {
    const first = await start()
    const other = await mkdtemp(join(tmpdir(), 'duly-postgres-'))
    undoes.push(() => rm(other, { recursive: true, force: true }))
    await expect(start({ dataDir: other, port: first.port })).rejects.toThrow(`Port ${first.port} is taken`)
  })

  it('for a folder that holds something else', async () => {
    await rm(dataDir, { recursive: true })
    await writeFile(dataDir, 'a file')
    await expect(start()).rejects.toThrow(/could not make its data folder[\s\S]*DULY_DATA_DIR[\s\S]*DULY_DATABASE_URL/)
  })

  it('for a setting that PostgreSQL refuses, with its own words', async () => {
    await expect(start({ settings: { max_connections: 'many' } })).rejects.toThrow(
      /could not start[\s\S]*max_connections/,
    )
  })
})
