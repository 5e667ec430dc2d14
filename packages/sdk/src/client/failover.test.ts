import { afterEach, describe, expect, it } from 'vitest'
import { startRunningClock } from '../testing/running-time.js'
import { problem, type Reply, ScriptedServer } from '../testing/scripted-server.js'
import { Duly } from './duly.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function node(answer: () => Reply): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(answer)
  closers.push(() => server.stop())
  return server
}

function clientOf(url: string | readonly string[]): Duly {
  const duly = new Duly({ url })
  closers.push(() => duly.close())
  return duly
}

async function addressOfNobody(): Promise<string> {
  const server = await ScriptedServer.start(() => OK)
  const { url } = server
  await server.stop()
  return url
}

const OK = { body: { task_id: 'task-1', status: 'PENDING', created_at: '2026-04-03T10:00:00.000Z' } }
const LEAVING = problem(503, 'shutting_down', { 'retry-after': '3600' })

describe('a client of several nodes', () => {
  it('stays with one that works, and clients spread over all', async () => {
    const nodes = [await node(() => OK), await node(() => OK)]
    const urls = nodes.map(({ url }) => url)
    for (let n = 0; n < 40; n += 1) {
      const before = nodes.map(({ calls }) => calls.length)
      const duly = clientOf(urls)
      for (let call = 0; call < 3; call += 1) await duly.submit('x')
      const got = nodes.map(({ calls }, index) => calls.length - (before[index] ?? 0))
      expect(got.toSorted()).toEqual([0, 3])
    }
    for (const { calls } of nodes) expect(calls.length).toBeGreaterThan(3)
  })

  it('goes on with the next one when one is gone, refuses or breaks off; its Retry-After does not hold the next one up', async () => {
    const alive = await node(() => OK)
    const gone = await addressOfNobody()
    const leaving = await node(() => LEAVING)
    const cutting = await node(() => ({ cut: true }))
    for (let n = 0; n < 8; n += 1) {
      const duly = clientOf([gone, leaving.url, cutting.url, alive.url])
      const elapsed = startRunningClock()
      await duly.submit('x', null, { idempotencyKey: 'k' })
      expect(elapsed()).toBeLessThan(10_000)
      const before = alive.calls.length
      await duly.submit('x')
      expect(alive.calls.length).toBe(before + 1)
    }
  })

  it('comes round to the first again', async () => {
    let answers: [Reply, Reply] = [LEAVING, OK]
    const [one, two] = [await node(() => answers[0]), await node(() => answers[1])]
    const duly = clientOf(`${one.url}, ${two.url}`)
    await duly.submit('x')
    answers = [OK, LEAVING]
    await duly.submit('x')
    answers = [LEAVING, OK]
    await duly.submit('x')
    expect(one.calls.length).toBeGreaterThan(1)
  })

  it('does not take a mistake for an absence', async () => {
    const nodes = [await node(() => problem(404, 'not_found')), await node(() => problem(404, 'not_found'))]
    const duly = clientOf(nodes.map(({ url }) => url))
    for (let n = 0; n < 3; n += 1) {
      await expect(duly.tasks.get('task-1')).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(nodes.map(({ calls }) => calls.length).toSorted()).toEqual([0, 3])
  })

  it('names the node that failed, and waits as told when there is but one', async () => {
    const gone = await addressOfNobody()
    const duly = new Duly({ url: gone, retries: 0 })
    await expect(duly.submit('x')).rejects.toThrow(gone)
    const leaving = await node(() => LEAVING)
    const one = new Duly({ url: leaving.url, retries: 0 })
    await expect(one.submit('x')).rejects.toMatchObject({ retryAfterMs: 3_600_000 })
  })

  it('needs addresses', () => {
    expect(() => new Duly({ url: [] })).toThrow('no address')
    expect(() => new Duly({ url: 'http://a:1,b' })).toThrow('not an http address: b')
  })

  it.each([
    ['localhost:7070', 'not an http address: localhost:7070 (write it as http://host:7070)'],
    ['http:127.0.0.1:7070', 'not an http address'],
    ['http://a:99999', 'not an http address'],
    ['http://a:1,', 'an address is empty'],
    ['http://a:1?key=x', 'with more than a path'],
    ['http://a:1/#x', 'with more than a path'],
    ['http://a:1/duly/api/v1/', 'leave out /api/v1'],
    ['http://a:0', 'no server listens at port 0'],
  ])('refuses the address %s', (url, message) => {
    expect(() => new Duly({ url })).toThrow(message)
  })

  it('refuses a password in an address, without repeating it', () => {
    const refusal = () => new Duly({ url: 'http://ada:hunter2@a:1' })
    expect(refusal).toThrow('the API key is given apart from it')
    expect(refusal).not.toThrow('hunter2')
  })
})
