import { afterEach, beforeEach, expect, it } from 'vitest'
import { FakeBroker } from '../testing/fake-broker.js'
import { problem } from '../testing/scripted-server.js'
import { gate, WorkerBench } from '../testing/worker-bench.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

const polls = () => bench.broker.server.calls.filter(({ path }) => /\/(poll|exchange)$/.test(path))

it('reports at once what ends while a poll is held', async () => {
  await bench
    .worker({ slots: 2 })
    .handle('quick', () => 'done')
    .start()
  await bench.broker.outcome(bench.broker.push('quick'))
  // The second poll, for the slot that stayed free, was open all the while; the outcome did not wait for it.
  expect(polls().map(({ body }) => body.slots)).toEqual([2, 1])
  expect(bench.broker.server.callsTo('/report')).toHaveLength(1)
})

it('with all slots busy, reports and asks in one request', async () => {
  const ids = Array.from({ length: 20 }, () => bench.broker.push('quick'))
  await bench
    .worker({ slots: 1 })
    .handle('quick', () => 'done')
    .start()
  for (const id of ids) await bench.broker.outcome(id)
  expect(bench.broker.server.callsTo('/report')).toHaveLength(0)
  expect(bench.broker.server.callsTo('/exchange').length).toBe(20)
})

it('carries what gathers during a round trip in one request', async () => {
  const ids = Array.from({ length: 300 }, () => bench.broker.push('quick'))
  await bench
    .worker({ slots: 100 })
    .handle('quick', async () => 'done')
    .start()
  for (const id of ids) await bench.broker.outcome(id)
  // beats come by the clock
  expect(bench.broker.server.calls.filter(({ path }) => !path.endsWith('/heartbeat')).length).toBeLessThan(30)
})

it('starts no handler before the acknowledging request has left', async () => {
  const order: string[] = []
  bench.broker.intercept = ({ path, body }) => {
    if (path.endsWith('/poll')) order.push(`poll ${body.slots} ${body.received}`)
    return undefined
  }
  const first = bench.broker.push('block')
  const release = gate()
  await bench
    .worker({ slots: 1 })
    .handle('block', async () => {
      // a beat may tell it too, and be faster
      await bench.broker.server.until(() => bench.broker.received === 1 && order.length === 2)
      order.push('started and known')
      bench.broker.server.notify()
      await release.promise
    })
    .start()
  await bench.broker.server.until(() => order.length === 3)
  expect(order).toEqual(['poll 1 0', 'poll 0 1', 'started and known'])
  release.open()
  await bench.broker.outcome(first)
})

it('holds a suspect back until the server has answered its acknowledgement', async () => {
  const order: string[] = []
  const answer = gate()
  bench.broker.intercept = async ({ path, body }) => {
    if (!path.endsWith('/heartbeat') || body.wait_seconds !== undefined) return undefined
    order.push(`acknowledged ${body.received}`)
    await answer.promise
    return undefined
  }
  await bench
    .worker()
    .handle('pill', () => {
      order.push('suspect started')
    })
    .handle('good', () => {
      order.push('neighbour started')
    })
    .start()
  const pill = bench.broker.push('pill', null, { suspect: true })
  await bench.broker.server.until(() => order.length === 1)
  await bench.broker.outcome(bench.broker.push('good'))
  expect(order).toEqual(['acknowledged 1', 'neighbour started'])
  answer.open()
  await bench.broker.outcome(pill)
  expect(order.at(-1)).toBe('suspect started')
})

it('heals lost answers: no task is lost, none runs twice, none is reported twice', async () => {
  let runs = 0
  const lost = { poll: 0, report: 0, exchange: 0 }
  bench.broker.losesAnswer = ({ path }, { body }) => {
    const name = path.split('/').at(-1) as keyof typeof lost
    const { tasks = [], results = [] } = (body ?? {}) as { tasks?: unknown[]; results?: unknown[] }
    if (!(name in lost) || lost[name] > 0 || tasks.length + results.length === 0) return false
    lost[name] += 1
    return true
  }
  const ids = Array.from({ length: 30 }, () => bench.broker.push('count'))
  await bench
    .worker({ slots: 4 })
    .handle('count', () => {
      runs += 1
    })
    .start()
  for (const id of ids) expect(await bench.broker.outcome(id)).toMatchObject({ outcome: 'succeeded' })
  await bench.broker.outcome(bench.broker.push('count'))
  expect(runs).toBe(31)
  expect(lost).toMatchObject({ poll: 1, exchange: 1 })
  expect(bench.broker.reports).toHaveLength(31)
})

it('ignores a grant that comes a second time', async () => {
  let runs = 0
  const answers: unknown[] = []
  bench.broker.intercept = ({ path, body }) => {
    if (!path.endsWith('/poll') || answers.length === 0 || body.received !== 1) return undefined
    // The acknowledgement crossed the server's repetition.
    return { body: answers.shift() }
  }
  bench.broker.losesAnswer = ({ path }, { body }) => {
    const { tasks } = (body ?? {}) as { tasks?: unknown[] }
    if (path.endsWith('/poll') && tasks?.length === 1 && runs === 0) answers.push({ tasks })
    return false
  }
  await bench
    .worker({ slots: 2 })
    .handle('count', () => {
      runs += 1
    })
    .start()
  await bench.broker.outcome(bench.broker.push('count'))
  await bench.broker.outcome(bench.broker.push('count'))
  expect(answers).toEqual([])
  expect(runs).toBe(2)
})

it('replaces a poll that asks for much less than is free by now', async () => {
  const release = gate()
  await bench
    .worker({ slots: 8 })
    .handle('block', () => release.promise)
    .start()
  const ids = Array.from({ length: 7 }, () => bench.broker.push('block'))
  await bench.broker.server.until(() => polls().at(-1)?.body.slots === 1)
  const before = polls().length
  release.open()
  for (const id of ids) await bench.broker.outcome(id)
  await bench.broker.server.until(() => polls().length > before)
  // The open poll may still bring a task for its one slot.
  expect(Number(polls()[before]?.body.slots)).toBeLessThanOrEqual(7)
  await bench.broker.server.until(() => Number(polls().at(-1)?.body.slots) >= 7)
  const more = Array.from({ length: 8 }, () => bench.broker.push('block'))
  for (const id of more) await bench.broker.outcome(id)
  expect(bench.broker.mostLeases).toBeLessThanOrEqual(8)
})

it('gives back at once what it has no slot or no handler for', async () => {
  const release = gate()
  const started = gate()
  await bench
    .worker({ slots: 1 })
    .handle('block', () => {
      started.open()
      return release.promise
    })
    .start()
  const unknown = bench.broker.push('unknown')
  expect(await bench.broker.outcome(unknown)).toMatchObject({ outcome: 'released' })
  bench.broker.push('block')
  await started.promise
  release.open()
})

it('keeps outcomes through an outage and delivers them when the server is back', async () => {
  const { broker } = bench
  const port = broker.server.port
  const release = gate()
  const started = gate()
  const worker = bench.worker().handle('long', () => {
    started.open()
    return release.promise.then(() => 'kept')
  })
  await worker.start()
  const id = broker.push('long')
  await started.promise
  let refusals = 0
  broker.intercept = ({ path }) => {
    if (path.endsWith('/workers')) return undefined
    refusals += 1
    return problem(503, 'store_unavailable', { 'retry-after': '0.01' })
  }
  release.open()
  await broker.server.until(() => refusals > 10)
  expect(broker.reportOf(id)).toBeUndefined()
  broker.intercept = () => undefined
  expect(await broker.outcome(id)).toMatchObject({ outcome: 'succeeded', result: 'kept' })
  expect(worker.state).toBe('running')
  expect(broker.server.port).toBe(port)
})

it('comes back after the server was gone, without a hot loop', async () => {
  const told: unknown[] = []
  const worker = bench.worker({ onError: (error) => told.push(error) }).handle('x', () => 'x')
  await worker.start()
  const { port } = bench.broker.server
  await bench.broker.stop()
  const registered = new Promise((resolve) => worker.once('registered', resolve))
  const second = await FakeBroker.start(port)
  try {
    await registered
    expect(await second.outcome(second.push('x'))).toMatchObject({ outcome: 'succeeded' })
    expect(told.length).toBeLessThan(10)
  } finally {
    await worker.stop({ graceMs: 0 })
    await second.stop()
  }
})

it('does not turn a server that never holds a poll into a hot loop', async () => {
  bench.broker.intercept = ({ path }) => (path.endsWith('/poll') ? { body: { tasks: [] } } : undefined)
  await bench
    .worker()
    .handle('x', () => null)
    .start()
  await bench.broker.server.until(() => polls().length > 5)
  const [counted, began] = [polls().length, performance.now()]
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(polls().length - counted).toBeLessThan(5 + (performance.now() - began) / 20)
})

it('isolates a report that the server refuses, and says so in its place', async () => {
  bench.broker.intercept = ({ path, body }) => {
    if (!/\/(report|exchange)$/.test(path)) return undefined
    const reports = (body.reports ?? []) as { result?: unknown }[]
    return reports.some(({ result }) => result === 'bad') ? problem(400, 'invalid_request') : undefined
  }
  const release = gate()
  await bench
    .worker({ slots: 4 })
    .handle('value', async (payload) => {
      await release.promise
      return payload
    })
    .start()
  const ids = ['good', 'bad', 'fine'].map((value) => bench.broker.push('value', value))
  await bench.broker.server.until(() => bench.broker.leases.size === 3)
  release.open()
  expect(await Promise.all(ids.map((id) => bench.broker.outcome(id)))).toMatchObject([
    { outcome: 'succeeded', result: 'good' },
    { outcome: 'failed', error: { class: 'ReportRefusedError', retryable: false } },
    { outcome: 'succeeded', result: 'fine' },
  ])
})

it('tells when another outcome stands', async () => {
  const worker = bench.worker()
  const refused = new Promise((resolve) => worker.once('refused', (id, code) => resolve([id, code])))
  const release = gate()
  const started = gate()
  await worker
    .handle('x', () => {
      started.open()
      return release.promise
    })
    .start()
  const id = bench.broker.push('x')
  await started.promise
  bench.broker.leases.clear()
  release.open()
  expect(await refused).toEqual([id, 'lease_lost'])
})
