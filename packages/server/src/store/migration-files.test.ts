import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parseMigration, readMigrations, splitStatements } from './migration-files.js'

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

async function folderOf(names: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'duly-migrations-'))
  folders.push(folder)
  await Promise.all(names.map((name) => writeFile(join(folder, name), 'select 1;')))
  return folder
}

test('the files come in the order of their numbers', async () => {
  const folder = await folderOf(['0010_later.sql', '0002_second.sql', '0001_first.sql', 'README.md'])
  expect((await readMigrations(folder)).map(({ name }) => name)).toEqual(['0001_first', '0002_second', '0010_later'])
})

test.each([
  [['1_short.sql'], /named like/],
  [['0001_Upper.sql'], /named like/],
  [['0001_one.sql', '0001_other.sql'], /two migrations are numbered 0001/],
])('%j is refused', async (names, message) => {
  await expect(readMigrations(await folderOf(names))).rejects.toThrow(message)
})

test('the hash is over every byte', () => {
  const hashes = ['select 1;', 'select 1;\n', 'select  1;'].map((sql) => parseMigration('0001_a', sql).hash)
  expect(new Set(hashes).size).toBe(3)
})

test.each([
  ['select 1;', { isTransactional: true, isBreaking: false }],
  ['-- duly: no-transaction\nselect 1;', { isTransactional: false, isBreaking: false }],
  ['-- duly: breaking\n-- duly: no-transaction\nselect 1;', { isTransactional: false, isBreaking: true }],
  ['-- about\n-- duly: breaking\nselect 1;', { isTransactional: true, isBreaking: false }],
])('the marks of %j', (sql, marks) => {
  expect(parseMigration('0001_a', sql)).toMatchObject(marks)
})

test('statements outside a transaction are told apart by semicolons at line ends', () => {
  const sql = `-- duly: no-transaction
drop index concurrently if exists a;
-- why; because
create index concurrently a
  on t (x, ';y');
`
  expect(splitStatements(parseMigration('0001_a', sql))).toEqual([
    'drop index concurrently if exists a',
    "create index concurrently a\n  on t (x, ';y')",
  ])
  expect(() => splitStatements(parseMigration('0001_a', 'do $$ begin end $$;'))).toThrow(/no function bodies/)
})
