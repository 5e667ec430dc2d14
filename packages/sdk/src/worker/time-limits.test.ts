import { afterEach, beforeEach, expect, it } from 'vitest'
import { gate, untilAborted, WorkerBench } from '../testing/worker-bench.js'
import { PermanentError } from './handler-errors.js'

let bench: WorkerBench
beforeEach(async () => {
  bench = await WorkerBench.open()
})
afterEach(() => bench.close())

it('aborts the signal at the time limit and reports a time-out', async () => {
  const reasons: unknown[] = []
  await bench
    .worker()
    .handle('slow', (_, { signal }) => {
      return untilAborted(signal).catch((error: Error) => {
        reasons.push(error.name)
        throw error
      })
    })
    .start()
  const id = bench.broker.push('slow', null, { timeout_ms: 50 })
  expect(await bench.broker.outcome(id)).toMatchObject({
    outcome: 'failed',
    error: { class: 'TimeoutError', timed_out: true, retryable: true },
  })
  expect(reasons).toEqual(['TimeoutError'])
})

it('reports a time-out also when the handler returns after the limit, and shows it an aborted signal', async () => {
  const seen: boolean[] = []
  await bench
    .worker()
    .handle('slow', async (_, context) => {
      await new Promise((resolve) => setTimeout(resolve, 80))
      seen.push(context.signal.aborted)
      return 'too late'
    })
    .start()
  const id = bench.broker.push('slow', null, { timeout_ms: 20 })
  expect(await bench.broker.outcome(id)).toMatchObject({ outcome: 'failed', error: { timed_out: true } })
  expect(seen).toEqual([true])
})

it('reports a handler that ignores its signal after the grace; its slot stays taken until its code ends', async () => {
  const end = gate()
  const worker = bench.worker({ slots: 2, abortGrace: 30, maxStuck: 1, pollWait: 200 })
  const events: unknown[] = []
  worker.on('stuck', ({ taskType }) => events.push(taskType))
  worker.on('too_many_stuck', (slots) => events.push(slots))
  await worker
    .handle('deaf', () => end.promise)
    .handle('good', () => 'fine')
    .start()
  const deaf = bench.broker.push('deaf', null, { timeout_ms: 20 })
  expect(await bench.broker.outcome(deaf)).toMatchObject({ outcome: 'failed', error: { timed_out: true } })
  expect(events).toEqual(['deaf', 1])
  const good = Array.from({ length: 5 }, () => bench.broker.push('good'))
  for (const id of good) await bench.broker.outcome(id)
  expect(bench.broker.mostLeases).toBe(1)
  end.open()
  await bench.broker.server.until(() => bench.broker.server.calls.at(-1)?.body.slots === 2)
  expect(bench.broker.reports.filter(({ task_id }) => task_id === deaf)).toHaveLength(1)
})

it('counts each attempt from its own arrival, with one timer for all', async () => {
  await bench
    .worker({ slots: 10 })
    .handle('slow', (_, { signal }) => untilAborted(signal))
    .start()
  // the timer is set for a late end first, then for an earlier one, and once more when that has come
  const limits = [300_000, 40, 200_000, 80]
  const ids = limits.map((timeout_ms) => bench.broker.push('slow', null, { timeout_ms }))
  const [, first = '', , second = ''] = ids
  for (const id of [first, second]) expect(await bench.broker.outcome(id)).toMatchObject({ error: { timed_out: true } })
  expect(bench.broker.reports.map(({ task_id }) => task_id).sort()).toEqual([first, second].sort())
})

it('passes a cancellation on, and reports it when the handler obeys', async () => {
  const started = gate()
  const reasons: unknown[] = []
  await bench
    .worker()
    .handle('long', async (_, { signal }) => {
      started.open()
      await untilAborted(signal).catch((error: Error) => reasons.push(error.name))
      throw new Error('interrupted')
    })
    .start()
  const id = bench.broker.push('long')
  await started.promise
  bench.broker.cancel('lease-1')
  expect(await bench.broker.outcome(id)).toMatchObject({ outcome: 'cancelled' })
  expect(reasons).toEqual(['TaskCancelledError'])
})

it('lets a success and a permanent error stand against a cancellation', async () => {
  const started = gate()
  let running = 0
  await bench
    .worker()
    .handle('finish', async (how, { signal }) => {
      running += 1
      if (running === 2) started.open()
      await untilAborted(signal).catch(() => {})
      if (how === 'throw') throw new PermanentError('no')
      return 'done'
    })
    .start()
  const ids = ['return', 'throw'].map((how) => bench.broker.push('finish', how))
  await started.promise
  bench.broker.cancel('lease-1')
  bench.broker.cancel('lease-2')
  expect(await Promise.all(ids.map((id) => bench.broker.outcome(id)))).toMatchObject([
    { outcome: 'succeeded', result: 'done' },
    { outcome: 'failed', error: { class: 'PermanentError' } },
  ])
})

it('reports a cancellation that the handler ignores after the grace', async () => {
  const started = gate()
  const end = gate()
  await bench
    .worker({ abortGrace: 30 })
    .handle('deaf', () => {
      started.open()
      return end.promise
    })
    .start()
  const id = bench.broker.push('deaf')
  await started.promise
  bench.broker.cancel('lease-1')
  expect(await bench.broker.outcome(id)).toMatchObject({ outcome: 'cancelled' })
  end.open()
})

it('drops the outcome of a lease that was taken back', async () => {
  const started = gate()
  const reason = gate<unknown>()
  await bench
    .worker()
    .handle('long', async (_, { signal }) => {
      started.open()
      await untilAborted(signal).catch((error: unknown) => reason.open(error))
      return 'for nobody'
    })
    .handle('after', () => 'ok')
    .start()
  const id = bench.broker.push('long')
  await started.promise
  bench.broker.lose('lease-1')
  expect(await reason.promise).toMatchObject({ name: 'LeaseLostError' })
  await bench.broker.outcome(bench.broker.push('after'))
  const sent = bench.broker.server.calls.flatMap(({ body }) => (body.reports ?? []) as { task_id: string }[])
  expect(sent.map(({ task_id }) => task_id)).not.toContain(id)
})
