import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import { startSystemPostgres, systemPostgresFolders } from '../../../../tests/support/system-postgres.js'
import { readMigrations } from './migration-files.js'
import { migrate, migrationStatus, verifyMigrations } from './migrations.js'
import { renderSchema } from './schema-text.js'

const GOLDEN = '../../schema.golden.txt'
const cleanUps: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp()
})

async function emptyDatabase(): Promise<string> {
  const database = await createDatabase({ empty: true })
  cleanUps.push(database.drop)
  return database.url
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  cleanUps.push(() => client.end())
  return client
}

async function folderOf(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'duly-migrations-'))
  cleanUps.push(() => rm(folder, { recursive: true }))
  await Promise.all(Object.entries(files).map(([name, sql]) => writeFile(join(folder, `${name}.sql`), sql)))
  return folder
}

test('an empty database becomes the golden schema', async () => {
  const url = await emptyDatabase()
  const names = (await readMigrations()).map(({ name }) => name)
  expect((await migrationStatus(url)).map(({ state }) => state)).toEqual(names.map(() => 'pending'))
  expect(await migrate(url)).toEqual({ applied: names })
  const client = await connect(url)
  // After a new migration: `npx vitest run packages/server/src/store/migrations.test.ts -u` writes it anew.
  await expect(await renderSchema(client)).toMatchFileSnapshot(GOLDEN)
  expect(await migrationStatus(url)).toEqual(
    names.map((name) => ({ name, state: 'applied', appliedAt: expect.any(Date) })),
  )
  expect(await verifyMigrations(url)).toEqual({ ok: true, problems: [] })
  expect(await migrate(url)).toEqual({ applied: [] })
})

test.each(systemPostgresFolders())('the PostgreSQL of %s gives the same text', async (bin) => {
  const server = await startSystemPostgres(bin)
  cleanUps.push(server.stop)
  await migrate(server.url)
  expect(await verifyMigrations(server.url)).toEqual({ ok: true, problems: [] })
})

test('verify names what is missing and what should not be there', async () => {
  const url = await emptyDatabase()
  expect((await verifyMigrations(url)).problems).toContain('0001_spine is pending')
  await migrate(url)
  const client = await connect(url)
  await client.query(`drop index open_tasks_timers; alter table tenants add column colour text;
    alter table open_tasks drop constraint open_tasks_lease; alter table nodes reset (fillfactor)`)
  const { ok, problems } = await verifyMigrations(url)
  expect(ok).toBe(false)
  expect(problems).toEqual([
    expect.stringContaining('missing table nodes: with fillfactor=50'),
    expect.stringContaining('missing table open_tasks: constraint open_tasks_lease'),
    expect.stringContaining('missing table open_tasks: CREATE INDEX open_tasks_timers'),
    'schema: unexpected table tenants: column colour text',
  ])
})

test('of 20 processes that start at once, one applies each migration', async () => {
  const url = await emptyDatabase()
  const folder = await folderOf({
    '0001_table': 'create table things (id integer, colour text);\ninsert into things values (1);',
    // Waits for every older snapshot: none of the nineteen that wait may hold one.
    '0002_index': '-- duly: no-transaction\ncreate index concurrently things_id on things (id);',
    '0003_row': 'insert into things values (2);',
  })
  const results = await Promise.all(Array.from({ length: 20 }, () => migrate(url, { folder })))
  expect(results.flatMap(({ applied }) => applied)).toEqual(['0001_table', '0002_index', '0003_row'])
  const { rows } = await (await connect(url)).query('select id from things order by id')
  expect(rows).toEqual([{ id: 1 }, { id: 2 }])
})

test('a file that was edited after it was applied is refused', async () => {
  const url = await emptyDatabase()
  await migrate(url, { folder: await folderOf({ '0001_a': 'create table a ();' }) })
  const edited = await folderOf({ '0001_a': 'create table a (id int);', '0002_b': 'create table b ();' })
  await expect(migrate(url, { folder: edited })).rejects.toMatchObject({
    code: 'migration_changed',
    message: expect.stringMatching(/another version of Duly.*0001_a.*DULY_DATA_DIR.*delete.*If it is yours/),
  })
  const states = (await migrationStatus(url, edited)).map(({ name, state }) => [name, state])
  expect(states).toEqual([
    ['0001_a', 'changed'],
    ['0002_b', 'pending'],
  ])
})

test('a database that is newer than the program is refused', async () => {
  const url = await emptyDatabase()
  await migrate(url, { folder: await folderOf({ '0001_a': 'create table a ();', '0002_b': 'create table b ();' }) })
  const older = await folderOf({ '0001_a': 'create table a ();' })
  await expect(migrate(url, { folder: older })).rejects.toMatchObject({
    code: 'migration_unknown',
    message: expect.stringMatching(/newer.*0002_b/),
  })
})

test('a migration that fails leaves nothing of itself, and the ones before it stay', async () => {
  const url = await emptyDatabase()
  const broken = { '0001_a': 'create table a ();', '0002_b': 'create table b ();\nselect 1 / 0;' }
  await expect(migrate(url, { folder: await folderOf(broken) })).rejects.toThrow(/division by zero/)
  const mended = await folderOf({ ...broken, '0002_b': 'create table b ();' })
  expect(await migrate(url, { folder: mended })).toEqual({ applied: ['0002_b'] })
})

test('a table that others hold is waited for, in short tries', async () => {
  const url = await emptyDatabase()
  const first = { '0001_a': 'create table a ();' }
  await migrate(url, { folder: await folderOf(first) })
  const holder = await connect(url)
  await holder.query('begin; lock table a in access share mode')
  const folder = await folderOf({ ...first, '0002_a': 'alter table a add column id int;' })
  const lines: string[] = []
  const migrating = migrate(url, {
    folder,
    log: (line) => {
      lines.push(line)
      if (line.includes('55P03')) void holder.query('rollback')
    },
  })
  expect(await migrating).toEqual({ applied: ['0002_a'] })
  // one try, and as many more as the end of the holder takes
  expect(lines.at(-1)).toBe('applied 0002_a')
  expect(lines.length).toBeGreaterThan(1)
  for (const line of lines.slice(0, -1)) expect(line).toContain('could not get its locks (55P03)')
})
