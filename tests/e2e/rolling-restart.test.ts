import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Duly } from '@duly/sdk'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startBalancer } from '../support/balancer.js'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { startServer, startWorker, type TestServer } from '../support/processes.js'

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url))

const GRACE = { GRACE_MS: '5000' }

/** Many looks of the balancer: a loaded machine may delay it for seconds. */
const DELAY = { DULY_DRAIN_DELAY_SECONDS: '7' }

interface End {
  readonly status: string
  readonly attempt: number
  readonly crashes: number
  readonly count: number
}

/** Two nodes that are restarted in place, each on its port. */
class Pair {
  readonly #servers: TestServer[]
  readonly #databaseUrl: string
  readonly #env: Readonly<Record<string, string>>

  private constructor(databaseUrl: string, env: Readonly<Record<string, string>>, servers: TestServer[]) {
    this.#databaseUrl = databaseUrl
    this.#env = env
    this.#servers = servers
  }

  static async start(env: Readonly<Record<string, string>>): Promise<Pair> {
    const { url: databaseUrl } = await createDatabase()
    const servers = [
      await startServer({ databaseUrl, env, name: 'node 0' }),
      await startServer({ databaseUrl, env, name: 'node 1' }),
    ]
    return new Pair(databaseUrl, env, servers)
  }

  get urls(): readonly string[] {
    return this.#servers.map(({ url }) => url)
  }

  /** How the tasks ended, when all have. */
  async ends(): Promise<readonly End[]> {
    const client = new pg.Client({ connectionString: this.#databaseUrl })
    await client.connect()
    const query = async <Row extends object>(text: string) => (await client.query<Row>(text)).rows
    while ((await query('select from open_tasks limit 1')).length > 0) await delay(50)
    const rows = await query<End>(
      'select status, attempt, crashes, count(*)::integer as count from outcomes group by 1, 2, 3',
    )
    await client.end()
    return rows
  }

  async restart(index: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const { process, port, url } = this.#servers[index] as TestServer
    const exit = await process.kill(signal)
    if (signal === 'SIGTERM') expect(exit, process.describe('did not stop cleanly')).toEqual({ code: 0, signal: null })
    const name = `node ${index}`
    this.#servers[index] = await startServer({ databaseUrl: this.#databaseUrl, env: this.#env, name, port })
    expect(this.#servers[index]?.url).toBe(url)
  }
}

/** Runs clients until told; every answer that is no success stands in the list. */
class Clients {
  readonly wrong: string[] = []
  readonly accepted: string[] = []
  answers = 0
  #isOver = false
  readonly #running: Promise<unknown>

  constructor(count: number, step: (clients: Clients, turn: number) => Promise<void>) {
    const act = async (offset: number) => {
      for (let turn = offset; !this.#isOver; turn += 1) {
        await step(this, turn).catch((error: unknown) => this.wrong.push(String(error)))
        await delay(5)
      }
    }
    this.#running = Promise.all(Array.from({ length: count }, (_, index) => act(index)))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }
}

const TASK = { task_type: 'work', payload: 5 }

/** A client that knows no retry: one call, whose every failure counts. */
async function plainStep(url: string, clients: Clients, turn: number): Promise<void> {
  const call = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> => {
    const sent =
      body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    const response = await fetch(`${url}/api/v1${path}`, { method, ...sent })
    const text = await response.text()
    clients.answers += 1
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }
  if (turn % 4 === 0) {
    const { tasks } = await call('POST', '/tasks/batch', { tasks: [TASK, { ...TASK, delay_seconds: 0.3 }] })
    clients.accepted.push(...(tasks as { task_id: string }[]).map(({ task_id }) => task_id))
    return
  }
  const { task_id } = await call('POST', '/tasks', TASK)
  clients.accepted.push(task_id as string)
  await call('GET', `/tasks/${task_id}${turn % 4 === 1 ? '?wait_seconds=5' : ''}`)
}

test('behind a balancer no request of a plain client fails while two nodes are restarted in turn', {
  timeout: 180_000,
}, async () => {
  const pair = await Pair.start(DELAY)
  const balancer = await startBalancer(pair.urls)
  await balancer.untilReady(2)
  const worker = startWorker({ url: balancer.url, file: WORKER, env: GRACE })
  await worker.line(/registered as/)
  const clients = new Clients(8, (all, turn) => plainStep(balancer.url, all, turn))
  await delay(300)
  for (const index of [0, 1]) {
    await pair.restart(index, 'SIGTERM')
    await balancer.untilReady(2)
  }
  await clients.stop()

  expect(balancer.failures).toEqual([])
  expect(clients.wrong).toEqual([])
  expect(clients.answers).toBeGreaterThan(50)
  expect(await pair.ends()).toEqual([{ status: 'SUCCEEDED', attempt: 1, crashes: 0, count: clients.accepted.length }])
  console.info(`${clients.answers} answers through both restarts`)
})

function clientOf(url: string | readonly string[], retries = 50): Duly {
  const duly = new Duly({ url, retries })
  cleanUpLater(() => duly.close())
  return duly
}

/** Submissions with a key, reads and waits: what may be repeated. */
async function safeStep(duly: Duly, clients: Clients, turn: number): Promise<void> {
  const handle = await duly.submit('work', 5, { idempotencyKey: crypto.randomUUID() })
  clients.accepted.push(handle.id)
  if (turn % 3 === 0) await handle.result({ timeout: '60s' })
  else await handle.get()
  clients.answers += 1
}

test('without a balancer no client that may repeat sees an error, whether it knows both nodes or the one that is restarted', {
  timeout: 180_000,
}, async () => {
  const pair = await Pair.start({})
  const [first = ''] = pair.urls
  const worker = startWorker({ url: pair.urls.join(','), file: WORKER, env: GRACE })
  await worker.line(/registered as/)
  const both = clientOf(pair.urls)
  const one = clientOf(first)
  const clients = new Clients(6, (all, turn) => safeStep(turn % 2 === 0 ? both : one, all, turn))
  await delay(300)
  for (const [index, signal] of [
    [0, 'SIGTERM'],
    [1, 'SIGTERM'],
    [0, 'SIGKILL'],
  ] as const) {
    await pair.restart(index, signal)
    await delay(200)
  }
  await clients.stop()

  expect(clients.wrong).toEqual([])
  expect(clients.answers).toBeGreaterThan(20)
  const ends = await pair.ends()
  expect(ends.filter(({ status, crashes }) => status !== 'SUCCEEDED' || crashes > 0)).toEqual([])
  expect(ends.reduce((sum, { count }) => sum + count, 0)).toBe(clients.accepted.length)
})
