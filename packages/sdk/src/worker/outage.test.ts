import { once } from 'node:events'
import { afterEach, expect, it, vi } from 'vitest'
import { Duly } from '../client/duly.js'
import { DulyApiError, DulyConnectionError } from '../errors.js'
import { FakeBroker } from '../testing/fake-broker.js'
import { gate, WorkerBench } from '../testing/worker-bench.js'
import type { WorkerOptions } from './options.js'
import { Outage } from './outage.js'
import { Worker } from './worker.js'

const URL = 'http://127.0.0.1:1'
const refused = new DulyConnectionError('ECONNREFUSED', `${URL}: refused`, { mayHaveArrived: false })
const answer = (status: number) =>
  new DulyApiError({ message: `HTTP ${status}`, status, code: 'x', errors: [], requestId: null, retryAfterMs: null })

function watched() {
  const said: string[] = []
  const note = (message: string) => void said.push(message)
  return { said, outage: new Outage(URL, { began: note, ended: note }) }
}

it('is told once with address and reason, and once that it is over', () => {
  const { said, outage } = watched()
  outage.answered(0)
  outage.failed(refused, 1_000)
  outage.failed(refused, 2_000)
  outage.unheard('timed out', 3_000)
  outage.failed(answer(503), 9_000)
  outage.heard(13_400)
  outage.answered(13_500)
  expect(said).toEqual([`no answer from ${URL}: refused; retrying`, `${URL} answers again after 12.4 s`])
})

it('tells a reason that is a sentence without its full stop', () => {
  const { said, outage } = watched()
  const revoked = { message: 'This API key was revoked.', status: 401, code: 'unauthenticated', errors: [] }
  outage.failed(new DulyApiError({ ...revoked, requestId: null, retryAfterMs: null }), 0)
  expect(said).toEqual([`${URL} answers: This API key was revoked; retrying`])
})

it('is also a server that answers, but with nothing to work with; that it is heard does not end it', () => {
  for (const status of [401, 403, 500, 503]) {
    const { said, outage } = watched()
    outage.failed(answer(status), 0)
    outage.heard(100)
    expect(said).toEqual([`${URL} answers: HTTP ${status}; retrying`])
    outage.failed(answer(409), 1_000)
    expect(said).toHaveLength(2)
  }
})

it('is none when a call was aborted or refused', () => {
  const { said, outage } = watched()
  outage.failed(new DulyConnectionError('ABORTED', 'aborted', { mayHaveArrived: true }))
  for (const status of [400, 409, 413, 429]) outage.failed(answer(status))
  expect(said).toEqual([])
})

it('is not told again and again of a server that fails now and then', () => {
  const { said, outage } = watched()
  for (let now = 0; now < 10_000; now += 10) {
    outage.failed(refused, now)
    outage.answered(now + 5)
  }
  expect(said).toHaveLength(4)
})

afterEach(() => {
  vi.restoreAllMocks()
})

/** What a worker that starts before its server writes to stderr until it has found it. */
async function writtenBy(options: WorkerOptions, listen: (worker: Worker) => void = () => {}) {
  const written: string[] = []
  vi.spyOn(console, 'warn').mockImplementation((line: string) => void written.push(line))
  const first = await FakeBroker.start()
  const { port } = first.server
  await first.stop()
  const failed = gate()
  const duly = new Duly({ url: `http://127.0.0.1:${port}` })
  const worker = new Worker(duly, { onError: () => failed.open(), ...options }).handle('x', () => null)
  listen(worker)
  const starting = worker.start()
  await failed.promise
  const late = await FakeBroker.start(port)
  await starting
  await worker.stop({ graceMs: 0 })
  duly.close()
  await late.stop()
  return { written, url: duly.options.url }
}

it('is written to stderr by a worker without a logger', async () => {
  const { written, url } = await writtenBy({})
  expect(written).toEqual([
    expect.stringContaining(`duly worker: no answer from ${url}: `),
    expect.stringMatching(/^duly worker: .* answers again after [\d.]+ s$/),
  ])
  expect(written[0]).toMatch(/ECONNREFUSED.*; retrying$/)
})

it('is not written when the application said that it will see to it', async () => {
  expect((await writtenBy({ logger: null })).written).toEqual([])
  expect((await writtenBy({ logger: false })).written).toEqual([])
  const heard: string[] = []
  const { written } = await writtenBy({}, (worker) => {
    for (const event of ['outage', 'recovered'] as const) worker.on(event, (message) => heard.push(message))
  })
  expect(written).toEqual([])
  expect(heard).toHaveLength(2)
})

it('of a worker at work is heard by its heartbeat, which a held poll would tell too late', async () => {
  const bench = await WorkerBench.open()
  const worker = bench.worker({ heartbeat: '200ms' }).handle('x', () => null)
  await worker.start()
  const outage = once(worker, 'outage')
  bench.broker.intercept = ({ path }) => (path.endsWith('/heartbeat') ? { cut: true } : undefined)
  expect(String(await outage)).toContain(bench.broker.url)
  const recovered = once(worker, 'recovered')
  bench.broker.intercept = () => undefined
  await recovered
  await bench.close()
})
