import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** One file of `packages/server/migrations`, as text. */
export interface Migration {
  /** The file's name without `.sql`, e.g. `0001_spine`: number, underscore, words. */
  readonly name: string
  readonly sql: string
  /** SHA-256 of the text, hex. A file that was applied anywhere is never edited again. */
  readonly hash: string
  /** False with a head line `-- duly: no-transaction`: for what PostgreSQL refuses inside one, e.g. `create index concurrently`. */
  readonly isTransactional: boolean
  /** True with a head line `-- duly: breaking`: the previous version of the program can't work on the result. */
  readonly isBreaking: boolean
}

/** The folder that ships with the package; the same from `src` and from `dist`. */
export const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations', import.meta.url))

const FILE_NAME = /^\d{4}_[a-z0-9_]+\.sql$/
const NO_TRANSACTION = '-- duly: no-transaction'
const BREAKING = '-- duly: breaking'

/**
 * Reads all migrations of a folder, in the order of their numbers.
 * @throws Error when a file is named otherwise than `NNNN_name.sql` or two carry the same number
 */
export async function readMigrations(folder: string = MIGRATIONS_FOLDER): Promise<readonly Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort()
  files.forEach((file, index) => {
    if (!FILE_NAME.test(file)) throw new Error(`${folder}/${file}: a migration is named like 0002_more_words.sql`)
    if (files[index - 1]?.slice(0, 4) === file.slice(0, 4))
      throw new Error(`${folder}: two migrations are numbered ${file.slice(0, 4)}`)
  })
  return Promise.all(
    files.map(async (file) => parseMigration(file.slice(0, -4), await readFile(`${folder}/${file}`, 'utf8'))),
  )
}

/** Hashes a migration's text and reads its marks: comment lines `-- duly: …` before the first other line. */
export function parseMigration(name: string, sql: string): Migration {
  const lines = sql.split('\n').map((line) => line.trim())
  const head = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('-- duly:')),
  )
  return {
    name,
    sql,
    hash: createHash('sha256').update(sql).digest('hex'),
    isTransactional: !head.includes(NO_TRANSACTION),
    isBreaking: head.includes(BREAKING),
  }
}

/**
 * The statements of a migration that runs outside a transaction. They must be sent one by one, because PostgreSQL runs several
 * in one message as one transaction. Each ends with a semicolon at the end of a line; dollar-quoted bodies don't belong there.
 */
export function splitStatements(migration: Migration): readonly string[] {
  if (migration.sql.includes('$$'))
    throw new Error(`${migration.name}: no function bodies in a migration without a transaction`)
  return migration.sql
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.replace(/^\s*--.*$/gm, '').trim())
    .filter((statement) => statement !== '')
}
