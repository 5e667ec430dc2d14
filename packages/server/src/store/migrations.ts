import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { buildDayIndexes, missingDayIndexes } from './day-indexes.js'
import { ensureDays } from './days.js'
import { MIGRATIONS_FOLDER, type Migration, readMigrations, splitStatements } from './migration-files.js'
import { compareSchemas, renderSchema } from './schema-text.js'

export type MigrationState = 'applied' | 'pending' | 'changed' | 'unknown'

export interface MigrationStatus {
  readonly name: string
  /** `changed`: applied with another text. `unknown`: applied by a newer program than this one. */
  readonly state: MigrationState
  readonly appliedAt: Date | null
}

export interface MigrateOptions {
  /** Told one line for each migration that is applied and for each wait. */
  readonly log?: (line: string) => void
  /** Another folder than the package's own; for tests. */
  readonly folder?: string
}

/** Why a database can't be migrated; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError'
  readonly code: 'migration_changed' | 'migration_unknown'
  constructor(code: MigrationError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Any constant of ours: advisory locks are told apart by database and number. "duly" in ASCII. */
const LOCK = 0x64756c79
const GOLDEN_FILE = fileURLToPath(new URL('../../schema.golden.txt', import.meta.url))
/** A migration waits this long for a table lock, so that traffic queued up behind it is held for no longer. */
const LOCK_TIMEOUT_MS = 2_000
const ATTEMPTS = 20
/** lock_timeout ran out, deadlock, serialisation failure: nothing was changed, the same again may work. */
const RETRIABLE = new Set(['55P03', '40P01', '40001'])

/**
 * Brings a database up to this program: applies what is pending, each file in a transaction of its own, builds indexes that
 * older days lack, and makes the days' partitions (yesterday to three days ahead). Safe when any number of processes do it at once: one works, the rest wait and
 * find nothing left to do.
 * @returns the names applied by this call
 * @throws MigrationError when an applied file was edited, or when the database is newer than this program
 */
export async function migrate(databaseUrl: string, options: MigrateOptions = {}): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(options.folder)
  return withClient(databaseUrl, async (client) => {
    const log = options.log ?? (() => {})
    const applied = await applyPending(client, migrations, log)
    await completeDays(client, log)
    if ((options.folder ?? MIGRATIONS_FOLDER) === MIGRATIONS_FOLDER) await ensureDays(client)
    return { applied }
  })
}

/** How every migration of this program or of the database stands, by name. Changes nothing. */
export async function migrationStatus(databaseUrl: string, folder?: string): Promise<readonly MigrationStatus[]> {
  const migrations = await readMigrations(folder)
  return withClient(databaseUrl, (client) => readStatus(client, migrations))
}

/** Is the database exactly what this program expects? Hashes equal, nothing pending, the live schema as in `schema.golden.txt`. */
export async function verifyMigrations(databaseUrl: string): Promise<{ ok: boolean; problems: readonly string[] }> {
  const [migrations, golden] = await Promise.all([readMigrations(), readFile(GOLDEN_FILE, 'utf8')])
  return withClient(databaseUrl, async (client) => {
    const status = await readStatus(client, migrations)
    const unsettled = status.filter(({ state }) => state !== 'applied').map(({ name, state }) => `${name} is ${state}`)
    const problems = [...unsettled, ...compareSchemas(golden, await renderSchema(client))]
    return { ok: problems.length === 0, problems }
  })
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'duly migrate' })
  // A connection that breaks rejects the query in flight; without a listener it would end the process as well.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function applyPending(
  client: pg.Client,
  migrations: readonly Migration[],
  log: (line: string) => void,
): Promise<string[]> {
  // Usually all is applied: then no lock is needed, and a fleet starts without standing in line.
  if (pendingOf(await readStatus(client, migrations)).size === 0) return []
  return locked(client, log, async () => {
    await client.query(`create table if not exists duly_migrations (
      name text primary key,
      hash text not null,
      is_breaking boolean not null,
      applied_at timestamptz not null default now()
    )`)
    const pending = pendingOf(await readStatus(client, migrations))
    const todo = migrations.filter(({ name }) => pending.has(name))
    for (const migration of todo)
      await withRetries({ name: migration.name, log }, () =>
        migration.isTransactional ? applyInTransaction(client, migration) : applyOutside(client, migration),
      )
    return todo.map(({ name }) => name)
  })
}

/** Indexes that a migration made on a partitioned table alone. A start that was cut off is taken up by the next one. */
async function completeDays(client: pg.Client, log: (line: string) => void): Promise<void> {
  if ((await missingDayIndexes(client)).length === 0) return
  await locked(client, log, () =>
    withRetries({ name: 'the indexes of all days', log }, async () => {
      await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
      await buildDayIndexes(client, log)
      await client.query('reset lock_timeout')
    }),
  )
}

async function locked<T>(client: pg.Client, log: (line: string) => void, work: () => Promise<T>): Promise<T> {
  await lock(client, log)
  try {
    return await work()
  } finally {
    await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => {}) // a broken connection has let go of it
  }
}

/**
 * Takes the migrators' lock. Asked for again and again instead of waited for: a session that waits inside
 * `pg_advisory_lock` holds a snapshot, and `create index concurrently` in the working one would wait for that snapshot (a deadlock).
 */
async function lock(client: pg.Client, log: (line: string) => void): Promise<void> {
  for (let round = 0; ; round += 1) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [LOCK])
    if (rows[0]?.locked) return
    if (round === 0) log('another process is migrating this database: waiting for it')
    await sleep(50 + Math.min(round, 10) * 20)
  }
}

function pendingOf(status: readonly MigrationStatus[]): ReadonlySet<string> {
  const changed = status.find(({ state }) => state === 'changed')
  if (changed)
    throw new MigrationError(
      'migration_changed',
      `This database was made by another version of Duly: it has another migration ${changed.name} than this program. If it is the embedded one (\`npm start\`, \`duly dev\`), choose another DULY_DATA_DIR, or delete the data folder (.duly unless set) with everything in it. If it is yours, run the version of Duly that made it, or name an empty database; whoever edited the migration restores it and puts the change into a new one.`,
    )
  const unknown = status.find(({ state }) => state === 'unknown')
  if (unknown)
    throw new MigrationError(
      'migration_unknown',
      `The database is newer than this program: it has migration ${unknown.name}. Start the version of Duly that made it, or a later one.`,
    )
  return new Set(status.filter(({ state }) => state === 'pending').map(({ name }) => name))
}

async function readStatus(client: pg.Client, migrations: readonly Migration[]): Promise<readonly MigrationStatus[]> {
  const applied = new Map((await readApplied(client)).map((row) => [row.name, row]))
  const known = new Set(migrations.map(({ name }) => name))
  const ours = migrations.map(({ name, hash }): MigrationStatus => {
    const row = applied.get(name)
    const state = row ? (row.hash === hash ? 'applied' : 'changed') : 'pending'
    return { name, state, appliedAt: row?.applied_at ?? null }
  })
  const foreign = [...applied.values()].filter(({ name }) => !known.has(name))
  const unknown = foreign.map(
    (row): MigrationStatus => ({ name: row.name, state: 'unknown', appliedAt: row.applied_at }),
  )
  return [...ours, ...unknown].sort((a, b) => (a.name < b.name ? -1 : 1))
}

interface AppliedRow {
  readonly name: string
  readonly hash: string
  readonly applied_at: Date
}

async function readApplied(client: pg.Client): Promise<readonly AppliedRow[]> {
  const { rows: tables } = await client.query<{ found: boolean }>(
    `select to_regclass('duly_migrations') is not null as found`,
  )
  if (!tables[0]?.found) return []
  const { rows } = await client.query<AppliedRow>('select name, hash, applied_at from duly_migrations')
  return rows
}

async function withRetries(
  { name, log }: { name: string; log: (line: string) => void },
  work: () => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work()
      log(`applied ${name}`)
      return
    } catch (error) {
      const code = error instanceof pg.DatabaseError ? error.code : undefined
      if (!code || !RETRIABLE.has(code) || attempt === ATTEMPTS) throw error
      log(`${name} could not get its locks (${code}): trying again`)
      await sleep(Math.min(100 * 2 ** attempt, 5_000) * (0.5 + Math.random() / 2))
    }
  }
}

async function applyInTransaction(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await client.query(migration.sql)
    await record(client, migration)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {}) // the first error is the one to tell
    throw error
  }
}

/** Its statements must be repeatable (`if not exists`, or a drop before): a crash in the middle runs the file again. */
async function applyOutside(client: pg.Client, migration: Migration): Promise<void> {
  await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
  for (const statement of splitStatements(migration)) await client.query(statement)
  await client.query('reset lock_timeout')
  await record(client, migration)
}

async function record(client: pg.Client, { name, hash, isBreaking }: Migration): Promise<void> {
  await client.query('insert into duly_migrations (name, hash, is_breaking) values ($1, $2, $3)', [
    name,
    hash,
    isBreaking,
  ])
}
