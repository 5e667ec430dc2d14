import { decodeId } from '@duly/domain'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'
import { enough, until } from '../dispatch/testing/http-node.js'
import { openLogBench, texts, type WirePage } from './testing/log-bench.js'

const bench = await openLogBench()
const { one, sql, two, url } = bench

describe('a log that is followed', () => {
  const follow = async (id: string, cursor: string | null, node = one): Promise<WirePage> =>
    bench.read(id, `?wait_seconds=30&cursor=${cursor}`, node)

  it.each([
    ['the same node', () => one],
    ['another node', () => two],
  ])('brings a line as soon as it is written, at %s', async (_, nodeOf) => {
    const { worker, id, grant } = await bench.running()
    const { next_cursor } = await bench.read(id)
    const held = follow(id, next_cursor, nodeOf())
    await enough()
    await bench.log({ worker, grant }, [{ message: 'now' }])
    expect(texts(await held)).toEqual(['now'])
  })

  it('at another node is told of it by word, and nobody is told of one that is not followed', async () => {
    const { worker, id, grant } = await bench.running()
    await until('the nodes to know of each other', async () => {
      const [row] = await sql<{ n: string }>(`select count(*) as n from nodes where seen_at > now() - interval '5 s'`)
      return Number(row?.n) === 2
    })
    const held = follow(id, (await bench.read(id)).next_cursor, two)
    await enough(300)
    const listener = await listen()
    await bench.log({ worker, grant }, [{ message: 'told' }])
    expect(texts(await held)).toEqual(['told'])
    await listener.until((word) => word.lines?.includes(decodeId('task', id)) === true)
    const alone = await bench.running()
    await bench.log(alone, [{ message: 'untold' }])
    await alone.worker.report([alone.grant])
    await listener.until((word) => word.finished?.includes(decodeId('task', alone.id)) === true)
    expect(listener.words.some(({ lines = [] }) => lines.includes(decodeId('task', alone.id)))).toBe(false)
  })

  it('is asked for by ?follow as well', async () => {
    const { worker, id, grant } = await bench.running()
    const { next_cursor } = await bench.read(id, '?follow=false')
    const held = [bench.read(id, `?follow&cursor=${next_cursor}`), bench.read(id, '?follow=true')]
    await enough()
    await bench.log({ worker, grant }, [{ message: 'now' }])
    for (const page of await Promise.all(held)) expect(texts(page)).toEqual(['now'])
    expect((await one.api.call('GET', `/tasks/${id}/logs?follow=1`)).status).toBe(400)
  })

  it('ends with its task, wherever that ends', async () => {
    const { worker, id, grant } = await bench.running()
    const { next_cursor } = await bench.read(id)
    const held = [follow(id, next_cursor), follow(id, next_cursor, two)]
    await enough()
    await worker.report([grant])
    for (const page of await Promise.all(held))
      expect(page).toMatchObject({ items: [], is_complete: true, next_cursor: null })
  })

  it('is found by a look where no word comes', async () => {
    const { id, grant } = await bench.running()
    const { next_cursor } = await bench.read(id)
    const held = follow(id, next_cursor)
    await enough()
    // as a node does it whose word is lost
    await sql('insert into task_logs (task_id, line, attempt, at, level, message) values ($1, 1, 1, now(), $2, $3)', [
      decodeId('task', id),
      'info',
      'found',
    ])
    await sql('insert into task_progress (task_id, log_lines, updated_at) values ($1, 1, now())', [
      decodeId('task', id),
    ])
    expect(texts(await held)).toEqual(['found'])
    expect(grant.attempt).toBe(1)
  })

  it('is held no longer than it says, and passes by lines that do not fit', async () => {
    const { worker, id, grant } = await bench.running()
    const { next_cursor } = await bench.read(id, '?level=error')
    const held = bench.read(id, `?level=error&wait_seconds=1&cursor=${next_cursor}`)
    await enough()
    await bench.log({ worker, grant }, [{ message: 'chatter' }])
    expect(await held).toMatchObject({ items: [], is_complete: false })
  })
})

interface Word {
  readonly lines?: readonly string[]
  readonly finished?: readonly string[]
}

/** What nodes tell each other from now on. */
async function listen() {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  cleanUpLater(() => client.end())
  const words: Word[] = []
  client.on('notification', ({ payload = '{}' }) => void words.push(JSON.parse(payload) as Word))
  await client.query('listen duly')
  return {
    words,
    until: async (is: (word: Word) => boolean) => {
      await until('a word', () => words.some(is))
    },
  }
}
