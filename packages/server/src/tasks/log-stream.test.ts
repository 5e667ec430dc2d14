import { afterAll, describe, expect, it } from 'vitest'
import { openGuarded } from '../access/testing/guarded-nodes.js'
import { startHttpNode } from '../dispatch/testing/http-node.js'
import { FollowedLog } from './testing/followed.js'
import { openLogBench } from './testing/log-bench.js'

const bench = await openLogBench()
const { one, two, sql } = bench

const opened: FollowedLog[] = []
afterAll(() => {
  for (const log of opened) log.close()
})

const follow = async (id: string, query = '', node: { readonly url: string } = one): Promise<FollowedLog> => {
  const log = await FollowedLog.open(node.url, `/tasks/${id}/logs${query}`)
  opened.push(log)
  return log
}

const say = (...messages: string[]) => messages.map((message) => ({ message }))

describe('a log that is followed as a stream', () => {
  it.each([
    ['the same node', () => one],
    ['another node', () => two],
  ])('brings what was there, then each line as it is written, and ends with its task, at %s', async (_, nodeOf) => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, say('before'))
    const log = await follow(id, '', nodeOf())
    expect([log.status, log.headers.get('content-type')]).toEqual([200, 'application/x-ndjson'])
    await log.until(({ messages }) => messages.length === 1)
    await bench.log({ worker, grant }, say('then'))
    await log.until(({ messages }) => messages.length === 2)
    await bench.log({ worker, grant }, say('last'))
    await worker.report([grant])
    expect(await log.ended).toBe(true)
    expect(log.messages).toEqual(['before', 'then', 'last'])
    expect(log.last).toMatchObject({ type: 'end', is_complete: true, dropped_lines: 0 })
  })

  it('goes on behind any record, losing and repeating nothing', async () => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, say('a', 'b', 'c'))
    await worker.report([grant])
    const whole = await follow(id)
    await whole.ended
    for (const [place, { cursor }] of whole.records.entries()) {
      const rest = await follow(id, `?cursor=${cursor}`, two)
      await rest.ended
      expect(rest.messages).toEqual(whole.messages.slice(place + 1))
      expect(rest.last).toMatchObject({ type: 'end', is_complete: true })
    }
    const small = await follow(id, '?limit=1')
    await small.ended
    expect(small.records).toEqual(whole.records)
  })

  it('goes on through a failed attempt, and a replay of the task is followed from where the log ended', async () => {
    const { worker, id, grant, queue } = await bench.running()
    await sql(`update tasks set retry_delay_ms = 0 where queue = $1`, [queue])
    const log = await follow(id)
    await bench.log({ worker, grant }, say('first'))
    await worker.report([grant], { outcome: 'failed', error: { class: 'E', message: 'x' } })
    const [again] = await worker.poll(1, { wait: 30 })
    if (again === undefined) throw new Error('nothing was granted')
    await bench.log({ worker, grant: again }, say('second'))
    await worker.report([again], { outcome: 'failed', error: { class: 'E', message: 'x', retryable: false } })
    await log.ended
    expect(log.records.map(({ message, attempt }) => [message, attempt])).toEqual([
      ['first', 1],
      ['second', 2],
      [undefined, undefined],
    ])
    expect((await one.api.call('POST', `/tasks/${id}/retry`)).status).toBe(200)
    const run = await follow(id, `?cursor=${log.last?.cursor}`)
    const [third] = await worker.poll(1, { wait: 30 })
    if (third === undefined) throw new Error('nothing was granted')
    await bench.log({ worker, grant: third }, say('third'))
    await worker.report([third])
    await run.ended
    expect(run.messages).toEqual(['third'])
    expect(run.last).toMatchObject({ is_complete: true })
  }, 60_000)

  it('says how far the handler is when that has changed', async () => {
    const { worker, id, grant } = await bench.running()
    const log = await follow(id)
    const progress = async (percent: number, message: string) => {
      const beat = { leases: [grant.lease], progress: [{ lease: grant.lease, percent }] }
      expect((await one.api.call('POST', `/workers/${worker.id}/heartbeat`, beat)).status).toBe(200)
      await bench.log({ worker, grant }, say(message))
    }
    await progress(40, 'a')
    await log.until(({ last }) => last?.percent === 40)
    await progress(40, 'b')
    await progress(60, 'c')
    await log.until(({ last }) => last?.percent === 60)
    await worker.report([grant])
    await log.ended
    expect(log.messages).toEqual(['a', 'b', 'c'])
    expect(log.records.filter(({ type }) => type === 'progress').at(-1)).toMatchObject({ percent: 60, note: null })
  })

  it('tells the lines of a level alone, and goes on behind the others', async () => {
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, [{ message: 'bad', level: 'error' }, { message: 'chatter' }])
    const log = await follow(id, '?level=error')
    await log.until(({ messages }) => messages.length === 1)
    await worker.report([grant])
    await log.ended
    expect(log.messages).toEqual(['bad'])
  })

  it('is refused as any other call: no task, no cursor of this log', async () => {
    const missing = await follow('task-01m8m8kd7xe3bty5rn8g2h4j6q')
    await missing.ended
    expect([missing.status, JSON.parse(missing.text).code]).toEqual([404, 'not_found'])
    const { id } = await bench.running()
    const lost = await follow(id, '?cursor=AAAA')
    await lost.ended
    expect([lost.status, JSON.parse(lost.text).code]).toEqual([400, 'invalid_request'])
  })

  it('ends when its node stops, and goes on at another one', async () => {
    const node = await startHttpNode(bench.url, { graceSeconds: 30 })
    const { worker, id, grant } = await bench.running()
    await bench.log({ worker, grant }, say('a'))
    const log = await follow(id, '', node)
    await log.until(({ messages }) => messages.length === 1)
    await node.stop()
    expect(await log.ended).toBe(true)
    expect(log.last).toMatchObject({ type: 'end', is_complete: false })
    await bench.log({ worker, grant }, say('b'))
    await worker.report([grant])
    const rest = await follow(id, `?cursor=${log.last?.cursor}`)
    await rest.ended
    expect(rest.messages).toEqual(['b'])
  })
})

describe('with keys', async () => {
  const guarded = await openGuarded()

  const followAs = async (secret: string, id: string): Promise<FollowedLog> => {
    const log = await FollowedLog.open(guarded.nodes[1].url, `/tasks/${id}/logs`, secret)
    opened.push(log)
    return log
  }

  it("another tenant's task is not there, and a stream ends when its key is revoked", async () => {
    const admin = guarded.api((await guarded.key(['admin'])).secret)
    const [acme, other] = [await guarded.key(['read'], 'acme'), await guarded.key(['read'], 'other')]
    const { task_id: id } = await admin.submit({ metadata: { tenant_id: 'acme' } })
    const foreign = await followAs(other.secret, id)
    await foreign.ended
    expect([foreign.status, JSON.parse(foreign.text).code]).toEqual([404, 'not_found'])
    const log = await followAs(acme.secret, id)
    await log.until(({ emptyLines }) => emptyLines > 0)
    expect((await admin.call('DELETE', `/api-keys/${acme.id}`)).status).toBe(200)
    await log.ended
    expect(log.last).toMatchObject({ type: 'end', is_complete: false })
    expect((await followAs(acme.secret, id)).status).toBe(401)
  })
})
