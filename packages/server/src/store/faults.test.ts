import { DulyError } from '@duly/domain'
import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../tests/support/ports.js'
import { faultyClient } from '../testing/faulty-client.js'
import { openTestStore } from '../testing/test-node.js'
import { Database } from './database.js'
import { asDulyError, faultKind, isUnknownOutcome } from './faults.js'

const store = await openTestStore()
const { node } = store

/** The error that PostgreSQL itself gives for the statement. */
const errorOf = (text: string) =>
  node.query(text).then(
    () => undefined,
    (error: unknown) => error,
  )

const raise = (code: string) => `do $$ begin raise exception 'x' using errcode = '${code}'; end $$`

describe('errors of the server itself', () => {
  test.each([
    ['select 1/0', 'data'],
    [`select 'x'::integer`, 'data'],
    [`insert into queues (name) values ('twice'), ('twice')`, 'data'],
    [`insert into tasks (id) values ('00000000-0000-7000-8000-000000000000')`, 'missing_day'],
    ['select nothing', 'bug'],
    [`set statement_timeout = '1ms'; select pg_sleep(1)`, 'unavailable'],
    [`set transaction_read_only = on; insert into queues (name) values ('x')`, 'unavailable'],
    [raise('40001'), 'transient'],
    [raise('40P01'), 'transient'],
    [raise('55P03'), 'transient'],
    [raise('53100'), 'unavailable'],
    [raise('53300'), 'unavailable'],
    [raise('57P01'), 'unavailable'],
  ] as const)('%s is %s', async (text, kind) => {
    const error = await errorOf(text)
    expect(error).toBeInstanceOf(Error)
    expect(faultKind(error)).toBe(kind)
    const told = asDulyError(error)
    if (kind === 'unavailable' || kind === 'transient') {
      expect(told).toMatchObject({ code: 'store_unavailable', retryAfterSeconds: 1, cause: error })
    } else expect(told).toBe(error)
    // a refusal is certain, but for a server that went down in mid-work
    expect(isUnknownOutcome(error)).toBe(text.includes('57P01'))
  })

  test('an error of ours stays as it is, and what is no error is a fault', () => {
    const ours = new DulyError('not_found', 'x')
    expect(asDulyError(ours)).toBe(ours)
    expect([faultKind('text'), faultKind(undefined), faultKind(new TypeError('x'))]).toEqual(['bug', 'bug', 'bug'])
  })
})

describe('connections', () => {
  const options = { hotConnections: 1, generalConnections: 1, applicationName: 'faults', statementTimeoutMs: 1_000 }

  test('nobody listens', async () => {
    const database = new Database({
      ...options,
      url: `postgres://duly@127.0.0.1:${await freePort()}/x`,
      onError: () => {},
    })
    const probe = { name: 'p', text: 'select 1' }
    for (const work of [database.query(probe), database.hot(probe, []), database.withHot(async () => {})]) {
      await expect(work).rejects.toMatchObject({ code: 'store_unavailable' })
    }
    await database.close()
  })

  test('a backend that is ended in mid-statement: unknown, and gone when the caller hears of it', async () => {
    const url = new URL(store.url)
    const database = new Database({ ...options, url: url.href, onError: () => {} })
    let pid = 0
    const work = database.withHot(async (client) => {
      pid = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid ?? 0
      await Promise.all([client.query('select pg_sleep(30)'), node.query('select pg_terminate_backend($1)', [pid])])
    })
    const error = await work.catch((cause: unknown) => cause)
    expect([faultKind(error), isUnknownOutcome(error)]).toEqual(['unavailable', true])
    expect(await node.query('select from pg_stat_activity where pid = $1', [pid])).toEqual([])
    expect(await database.query({ name: 'again', text: 'select 1 as one' })).toEqual([{ one: 1 }])
    await database.close()
  })

  test('an idle connection that breaks is replaced without a word to the caller', async () => {
    const broken: Error[] = []
    const database = new Database({ ...options, url: store.url, onError: (error) => broken.push(error) })
    const who = { name: 'who', text: 'select pg_backend_pid() as pid' }
    const [first] = await database.hot<{ pid: number }>(who, [])
    await node.query('select pg_terminate_backend($1, 5000)', [first?.pid])
    while (broken.length === 0) await node.query('select 1')
    const [second] = await database.hot<{ pid: number }>(who, [])
    expect(second?.pid).not.toBe(first?.pid)
    await database.close()
  })

  test('two statements that lock each other out are tried again until both are done', async () => {
    await node.query(`create table pairs (id integer primary key, n integer); insert into pairs values (1, 0), (2, 0)`)
    const swap = { name: 'swap', text: 'update pairs set n = n + 1 where id = $1 and pg_sleep(0.05) is not null' }
    const both = (first: number, second: number) =>
      `with a as (update pairs set n = n + 1 where id = ${first} returning pg_sleep(0.1)), b as (select count(*) from a)
       update pairs set n = n + 1 where id = ${second} and (select count from b) = 1`
    await Promise.all([
      node.database.hot({ name: 'one', text: both(1, 2) }, []),
      node.database.hot({ name: 'other', text: both(2, 1) }, []),
    ])
    await node.database.hot(swap, [1])
    expect(await node.query('select n from pairs order by id')).toEqual([{ n: 3 }, { n: 2 }])
  })

  test('a transaction leaves nothing of itself when its work fails', async () => {
    const failing = node.database.transaction(async (client: pg.PoolClient) => {
      await client.query(`insert into queues (name) values ('half')`)
      throw new Error('changed my mind')
    })
    await expect(failing).rejects.toThrow('changed my mind')
    expect(await node.query(`select from queues where name = 'half'`)).toEqual([])
    expect(
      await node.query(
        `select from pg_stat_activity where state like 'idle in transaction%' and datname = current_database()`,
      ),
    ).toEqual([])
  })

  test('a transaction whose ROLLBACK got no answer leaves nobody a connection that is still in it', async () => {
    const options = { generalConnections: 1, applicationName: 'faults', statementTimeoutMs: 5_000, onError: () => {} }
    const Client = faultyClient((statement) => (statement === 'rollback' ? 'timeout_before' : null))
    const database = new Database({ ...options, url: store.url, hotConnections: 1, Client })
    const failing = database.transaction(async () => {
      throw new Error('changed my mind')
    })
    await expect(failing).rejects.toThrow('changed my mind')
    await database.hot({ name: 'next', text: `insert into queues (name) values ('kept')` }, [])
    await database.close()
    expect(await node.query(`select name from queues where name = 'kept'`)).toEqual([{ name: 'kept' }])
  })
})
