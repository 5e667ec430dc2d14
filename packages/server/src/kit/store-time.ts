import type { Uuid } from '@duly/domain'
import pg from 'pg'

/**
 * The time of a test's own database: `now()` and `clock_timestamp()` of every statement are found in the schema `virtual`
 * before they are found in pg_catalog. No product code knows of it. Only connections that are opened after `install` are on
 * it; so are values of columns by default, of tables that are made after it.
 */
export class StoreTime {
  readonly #client: pg.Client
  #hasLost = false

  private constructor(client: pg.Client) {
    this.#client = client
  }

  /**
   * Puts the database of that url on a time of its own, for ever.
   * @param at where it stands still until it is moved; without, it goes on from the real time as usual
   */
  static async install(url: string, { at }: { readonly at?: Date } = {}): Promise<StoreTime> {
    const setUp = await connect(url)
    try {
      await setUp.query(schema)
      await setUp.query(
        `insert into virtual.clock values (coalesce($1::timestamptz, pg_catalog.now()), case when $1::timestamptz is null then pg_catalog.now() end)`,
        [at?.toISOString() ?? null],
      )
      const name = setUp.escapeIdentifier(new URL(url).pathname.slice(1))
      // what is made goes into the first schema: that stays public
      await setUp.query(`alter database ${name} set search_path = public, virtual, pg_catalog`)
      // nothing of a test has to survive a crash
      await setUp.query(`alter database ${name} set synchronous_commit = off`)
    } finally {
      await setUp.end()
    }
    return new StoreTime(await connect(url))
  }

  /** The connection that moves the time, for what else belongs to a step. */
  get client(): pg.Client {
    return this.#client
  }

  /** Moves the time, and nothing else; never back. Whoever was to be heard of meanwhile was not. */
  async move(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError('time does not go back')
    await this.#client.query(`update virtual.clock set at = at + $1 * interval '1 millisecond'`, [ms])
  }

  /**
   * Moves the time to an instant as PostgreSQL writes it, to the microsecond; one that has passed moves nothing. As after an
   * outage, the time that passed counts against nobody: live sessions keep what was left of their leases. The day that it
   * comes to has its partitions; days that it passes over have none.
   * @param byMonths one partition serves a month, as those of old months do: each new one costs 30 ms, and every plan anew
   * @returns the present instant, epoch ms
   */
  async moveTo(instant: string, { byMonths }: { readonly byMonths: boolean }): Promise<number> {
    const text = `select date_part('epoch', virtual.move(greatest($1::timestamptz - now(), '0'), $2)) * 1000 as "atMs"`
    const { rows } = await this.#client.query<{ atMs: number }>({ name: 'move_to', text, values: [instant, byMonths] })
    return rows[0]?.atMs ?? Number.NaN
  }

  /**
   * From now on no time that passes is spared this session: its lease ends when it would end now. What it was given it had, though the
   * word of that may be on its way. False: it does not live.
   */
  async lose(session: Uuid): Promise<boolean> {
    this.#hasLost = true
    const { rowCount } = await this.#client.query(
      `with had as (update session_grants set received = last_grant where session = $1)
       insert into virtual.lost select s.id, s.live_until from worker_sessions s where s.id = $1 and s.ended_at is null for update`,
      [session],
    )
    return rowCount === 1
  }

  /** Whether leases of lost sessions are over and not judged yet; over they are, whatever renewed them. */
  async endLeases(): Promise<boolean> {
    if (!this.#hasLost) return false
    const { rowCount } = await this.#client.query(
      `update worker_sessions s set live_until = l.until from virtual.lost l
       where s.id = l.session and s.ended_at is null and l.until <= now()`,
    )
    return rowCount !== 0
  }

  async close(): Promise<void> {
    await this.#client.end()
  }
}

/**
 * `since` is the real instant at which the clock showed `at`; null: it stands still. What is alive by having been heard of
 * lately is moved along with the time, but for sessions that a test has lost, and the new day's partitions are made, in one transaction.
 */
const schema = `
create schema virtual;
create table virtual.clock (at timestamptz not null, since timestamptz);
create table virtual.lost (session uuid primary key, until timestamptz not null);
create function virtual.now() returns timestamptz language plpgsql stable parallel safe as
  'begin return (select coalesce(at + (pg_catalog.now() - since), at) from virtual.clock); end';
create function virtual.clock_timestamp() returns timestamptz language plpgsql volatile as
  'begin return (select coalesce(at + (pg_catalog.clock_timestamp() - since), at) from virtual.clock); end';
create function virtual.make_day(day date, by_months boolean) returns void language plpgsql as $$
declare
  month date := date_trunc('month', day);
  suffix text := to_char(day, 'YYYYMM');
  parent text;
begin
  -- a month that was begun by days goes on by days
  if not by_months or exists (select from pg_tables where schemaname = 'public' and tablename ~ ('^tasks_' || suffix || '..')) then
    perform duly_make_day(day);
    return;
  end if;
  if to_regclass('tasks_' || suffix) is not null then return; end if;
  foreach parent in array array['tasks', 'outcomes'] loop
    execute format('create table %I (like %I including defaults including constraints) with (toast_tuple_target = 8160)',
      parent || '_' || suffix, parent);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, parent || '_' || suffix,
      duly_day_bound(month), duly_day_bound((month + interval '1 month')::date));
  end loop;
end $$;
create function virtual.move(ahead interval, by_months boolean) returns timestamptz language plpgsql as $$
declare
  before timestamptz := virtual.now();
  after timestamptz := before + ahead;
begin
  update virtual.clock set at = at + ahead;
  update worker_sessions set live_until = live_until + ahead where ended_at is null and live_until > before
    and id not in (select session from virtual.lost);
  update store_marks set marked_at = marked_at + ahead, judge_after = judge_after + ahead;
  update nodes set seen_at = seen_at + ahead;
  if (after at time zone 'UTC')::date > (before at time zone 'UTC')::date then
    perform virtual.make_day((after at time zone 'UTC')::date, by_months);
  end if;
  return after;
end $$`

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: 'duly test kit' })
  // the next statement reports it
  client.on('error', () => {})
  await client.connect()
  return client
}
