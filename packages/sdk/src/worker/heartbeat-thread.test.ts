import { Worker as Thread } from 'node:worker_threads'
import { afterEach, expect, it } from 'vitest'
import { resolveOptions } from '../client/options.js'
import { problem, ScriptedServer } from '../testing/scripted-server.js'
import { HeartbeatThread, type HeartbeatThreadPorts } from './heartbeat-thread.js'
import { Session } from './session.js'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

function threadFor(url: string, ports: Partial<HeartbeatThreadPorts> = {}): HeartbeatThread {
  const thread = new HeartbeatThread(resolveOptions({ url }), {
    leasesOlderThan: () => ['lease-1'],
    instructed: () => {},
    answered: () => {},
    unanswered: () => {},
    trouble: () => {},
    lost: () => {},
    ...ports,
  })
  closers.unshift(() => thread.close())
  return thread
}

const session = (id = 'worker-1', heartbeat_seconds = 0.2) =>
  new Session({ worker_id: id, heartbeat_seconds, lease_seconds: 1 })

async function serverWith(answer: Parameters<typeof ScriptedServer.start>[0]): Promise<ScriptedServer> {
  const server = await ScriptedServer.start(answer)
  closers.push(() => server.stop())
  return server
}

const NOTHING = { body: { cancel: [], lost: [], drain: false } }

it('beats on while the main thread is blocked', async () => {
  const beats = new Int32Array(new SharedArrayBuffer(4))
  const peer = new Thread(new URL('../testing/beat-counter.mjs', import.meta.url), {
    workerData: { beats: beats.buffer },
  })
  closers.push(() => peer.terminate())
  const { port } = await new Promise<{ port: number }>((resolve) => peer.once('message', resolve))
  threadFor(`http://127.0.0.1:${port}`).follow(session())
  while (Atomics.load(beats, 0) === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  const before = Atomics.load(beats, 0)
  // Blocks this thread, as a handler that computes would, but without the load, until they have come.
  const idle = new Int32Array(new SharedArrayBuffer(4))
  for (let waits = 0; waits < 600 && Atomics.load(beats, 0) < before + 2; waits += 1) Atomics.wait(idle, 0, 0, 100)
  expect(Atomics.load(beats, 0) - before).toBeGreaterThanOrEqual(2)
})

it('tells what it holds and how it fares, and has the beat held for one interval', async () => {
  const server = await serverWith(() => NOTHING)
  const mine = session()
  mine.receive(7)
  threadFor(server.url).follow(mine)
  await server.until(() => server.calls.length > 0)
  expect(server.calls[0]).toMatchObject({
    path: '/api/v1/workers/worker-1/heartbeat',
    body: {
      received: 7,
      leases: ['lease-1'],
      wait_seconds: 0.2,
      lag_ms: expect.any(Number),
      rss_bytes: expect.any(Number),
    },
  })
})

it('passes instructions on as they come', async () => {
  const instructions = { cancel: [{ lease: 'lease-1', reason: 'cancel_requested' }], lost: ['lease-2'], drain: false }
  const server = await serverWith(() => ({ body: instructions }))
  const heard = await new Promise((resolve) => {
    threadFor(server.url, { instructed: (_, said) => resolve(said) }).follow(session())
  })
  expect(heard).toEqual(instructions)
})

it('does not make a hot loop of a server that says the same at once again and again', async () => {
  const server = await serverWith(() => ({ body: { cancel: [], lost: ['lease-1'], drain: false } }))
  threadFor(server.url).follow(session())
  await server.until(() => server.calls.length >= 4)
  const [counted, began] = [server.calls.length, performance.now()]
  await new Promise((resolve) => setTimeout(resolve, 500))
  // one each 200 ms, as long as it really took
  expect(server.calls.length - counted).toBeLessThanOrEqual(2 + (performance.now() - began) / 150)
})

it('says that the session is lost, and beats for the next one', async () => {
  const server = await serverWith(({ path }) => (path.includes('worker-1') ? problem(409, 'session_lost') : NOTHING))
  const lost = new Promise<Session>((resolve) => {
    const thread = threadFor(server.url, {
      lost: (of) => {
        resolve(of)
        thread.follow(session('worker-2'))
      },
    })
    thread.follow(session('worker-1'))
  })
  expect((await lost).id).toBe('worker-1')
  await server.until(() => server.calls.some(({ path }) => path.includes('worker-2')))
})

it('goes on through failures', async () => {
  let fails = 3
  const server = await serverWith(() => {
    fails -= 1
    return fails >= 0 ? { cut: fails % 2 === 0, status: 503 } : NOTHING
  })
  threadFor(server.url).follow(session())
  await server.until(() => server.calls.length >= 5)
})
