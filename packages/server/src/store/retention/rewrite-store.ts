import type { Uuid } from '@duly/domain'
import { faultKind } from '../faults.js'
import type { OwnConnection } from '../own-connection.js'
import { textArray, uuidArray } from '../params.js'
import type { Range } from './record-store.js'

/** Partitions that are replaced by one that holds their survivors. */
export interface Rewrite extends Range {
  /** Of the new partition. */
  readonly suffix: string
  /** Of those that it replaces. */
  readonly old: readonly string[]
  /** What finished before this can go. */
  readonly cutoff: string
}

/** How long a step that other work waits for may wait for its locks, and how long it may take in all. */
const lockTimeoutMs = 40
const pauseLimitMs = 150

/**
 * One message, so that the server finishes or drops it whatever becomes of this node. The commit need not reach the disk while
 * the locks are held: whatever follows it in the log takes it along.
 */
const briefly = (statement: string, before = ''): string => `
begin;
set local synchronous_commit = off;
${before}
set local lock_timeout = ${lockTimeoutMs};
set local statement_timeout = ${pauseLimitMs};
${statement};
commit`

/** Vacuum of the old partitions is waited for first: that wait disturbs nobody. */
const swapScript = (most: number): string =>
  briefly(`select duly_swap(${most})`, `set local lock_timeout = '3s'; select duly_hold_vacuum();`)

const beginJob = {
  name: 'retention_begin_job',
  text: `insert into retention_job (lower, upper, suffix, old, cutoff) values ($1, $2, $3, $4, $5::timestamptz)`,
}
const makeNext = { name: 'retention_make_next', text: `select duly_make_next($1, $2)` }
const carry = { name: 'retention_carry', text: `select duly_carry($1::uuid[]) as carried` }
const takeChanges = {
  name: 'retention_take_changes',
  text: `
with taken as (
  delete from retention_changes c where c.ctid = any (array(select t.ctid from retention_changes t limit $1)) returning c.id
)
select distinct t.id from taken t`,
}
const jobs = { name: 'retention_jobs', text: 'select 1 from retention_job' }
const endJob = { name: 'retention_end_job', text: 'delete from retention_job' }

/** Tables of a rewrite that no parent has: copies that were not taken, and partitions that were replaced. */
const looseTables = {
  name: 'retention_loose_tables',
  text: `
select c.relname as name from pg_class c
where c.relkind = 'r' and c.relname ~ '^(tasks|outcomes)_(next|gone_[0-9]+)$' and c.oid = to_regclass(c.relname)
  and not exists (select 1 from pg_inherits i where i.inhrelid = c.oid)`,
}
const watchedParts = {
  name: 'retention_watched_parts',
  text: `
select c.relname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid
where t.tgname = 'retention_note' and c.relname !~ '_gone_' and c.oid = to_regclass(c.relname)`,
}

/** The steps of a rewrite. Each leaves the store right if the next one never comes. */
export class RewriteStore {
  readonly #connection: OwnConnection

  constructor(connection: OwnConnection) {
    this.#connection = connection
  }

  /** Removes what an earlier rewrite left: it may have ended at any step. */
  async clear(): Promise<void> {
    await this.#connection.query(endJob)
    await this.dropLoose()
    for (const { name } of await this.#connection.query<{ name: string }>(watchedParts)) {
      await this.#briefly(briefly(`drop trigger if exists retention_note on ${identifier(name)}`))
    }
    while ((await this.takeChanges(10_000)).length > 0);
  }

  /** Drops tables that belong to no rewrite any more. */
  async dropLoose(): Promise<void> {
    for (const { name } of await this.#connection.query<{ name: string }>(looseTables)) {
      await this.#connection.script(`drop table if exists ${identifier(name)}`)
    }
  }

  async begin({ lower, upper, suffix, old, cutoff }: Rewrite): Promise<void> {
    await this.#connection.query(beginJob, [lower, upper, suffix, textArray(old), cutoff])
    await this.#connection.query(makeNext, [lower, upper])
  }

  /** Has changes of the old partitions noted from now on. False: the locks could not be had; try again later. */
  watch(): Promise<boolean> {
    return this.#briefly(briefly('select duly_watch()'))
  }

  /** Brings the copies of these tasks to what is true now. Answers how many have one. */
  async carry(ids: readonly Uuid[]): Promise<number> {
    if (ids.length === 0) return 0
    const [row] = await this.#connection.query<{ carried: number }>(carry, [uuidArray(ids)])
    return row?.carried ?? 0
  }

  /** Takes up to `limit` noted changes off the list; answers the tasks. */
  async takeChanges(limit: number): Promise<Uuid[]> {
    return (await this.#connection.query<{ id: Uuid }>(takeChanges, [limit])).map(({ id }) => id)
  }

  /** Statistics and visibility of the copies: nobody uses them yet, so it costs nobody a wait, however long it takes. */
  async settle(): Promise<void> {
    await this.#connection.script('set statement_timeout = 0')
    await this.#connection.script('vacuum (freeze, analyze) tasks_next')
    await this.#connection.script('vacuum (freeze, analyze) outcomes_next')
    await this.#connection.script('reset statement_timeout')
  }

  /**
   * Replaces the old partitions, if no more than `most` changes are left. False: it could not be done within the time that
   * other work may wait; nothing has changed.
   */
  async swap(most: number): Promise<boolean> {
    if (!(await this.#briefly(swapScript(most)))) return false
    return (await this.#connection.query(jobs)).length === 0
  }

  /** Runs a script whose locks others wait for; false when it ran out of its time. */
  async #briefly(script: string): Promise<boolean> {
    try {
      await this.#connection.script(script)
      return true
    } catch (error) {
      await this.#connection.script('rollback').catch(() => {}) // the first error is the one to tell
      if (isOutOfTime(error)) return false
      throw error
    }
  }
}

/** Lock timeout, deadlock, statement timeout. */
function isOutOfTime(error: unknown): boolean {
  if (faultKind(error) === 'transient') return true
  return error instanceof Error && 'code' in error && error.code === '57014'
}

const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
