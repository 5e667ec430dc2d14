import pg from 'pg'

/** A store whose time goes on as usual and can be moved by whole days in an instant. */
export interface VirtualStoreClock {
  /** Moves the store's time; never back. Nodes learn of it when they look at the store's clock the next time. */
  advance(ms: number): Promise<void>
}

/**
 * Puts a database on a clock of its own: `now()` and `clock_timestamp()` of every statement are found in the schema `virtual`
 * before they are found in pg_catalog, and add what the clock was moved by. No product code knows of it. Only connections that
 * are opened afterwards are on it; values of columns by default are not (they were bound when the table was made).
 */
export async function installVirtualClock(url: string): Promise<VirtualStoreClock> {
  await withClient(url, async (client) => {
    await client.query(`
      create schema virtual;
      create table virtual.clock (ahead interval not null);
      insert into virtual.clock values ('0');
      create function virtual.now() returns timestamptz language plpgsql stable parallel safe as
        'begin return pg_catalog.now() + (select ahead from virtual.clock); end';
      create function virtual.clock_timestamp() returns timestamptz language plpgsql volatile as
        'begin return pg_catalog.clock_timestamp() + (select ahead from virtual.clock); end'`)
    // what is made goes into the first schema: that stays public
    const name = new URL(url).pathname.slice(1)
    await client.query(`alter database ${client.escapeIdentifier(name)} set search_path = public, virtual, pg_catalog`)
  })
  return {
    advance: (ms) =>
      withClient(url, async (client) => {
        if (ms < 0) throw new RangeError('time does not go back')
        await client.query(`update virtual.clock set ahead = ahead + $1 * interval '1 millisecond'`, [ms])
      }),
  }
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
