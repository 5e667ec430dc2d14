import { setTimeout as delay } from 'node:timers/promises'
import { Duly, DulyApiError, defineTask, PermanentError, TaskFailedError, Worker } from '@duly/sdk'
import { beforeAll, describe, expect, it } from 'vitest'
import { openStore, startHttpNode } from '../../packages/server/src/dispatch/testing/http-node.js'
import { cleanUpLater } from '../support/clean-up.js'

const greet = defineTask<{ name: string }, { name: string }, { greeting: string }>('greet')

/** One signal a running handler, so that tests wait for what they mean. */
class Gate {
  readonly reached: Promise<void>
  reach: () => void = () => {}
  constructor() {
    this.reached = new Promise((resolve) => {
      this.reach = resolve
    })
  }
}

let duly: Duly
let gates: Map<string, Gate>
const aborted: string[] = []

const gateOf = (name: string): Gate => {
  const gate = gates.get(name) ?? new Gate()
  gates.set(name, gate)
  return gate
}

beforeAll(async () => {
  const store = await openStore()
  // the worker ends an attempt that is over: the node, which would after this long, never comes first
  const node = await startHttpNode(store.url, { graceSeconds: 30 })
  duly = new Duly({ url: node.url })
  gates = new Map()
  const worker = new Worker(duly, { queues: ['default'], slots: 20, abortGrace: 200 })
    .handle(greet, async ({ name }) => ({ greeting: `Hello, ${name}` }))
    .handle('flaky', async (_, { failures }) => {
      if (failures < 2) throw new Error(`failure ${failures + 1}`)
      return failures
    })
    .handle('hopeless', async () => {
      throw new Error('never works')
    })
    .handle('permanent', async () => {
      throw new PermanentError('the address does not exist')
    })
    .handle('nap', async (_, context) => (context.attempt === 1 ? context.snooze(300) : context.attempt))
    .handle('busy', async (_, context) => (context.attempt === 1 ? context.retryAfter(300) : context.failures))
    .handle('obedient', async (payload, { signal }) => {
      gateOf(String(payload)).reach()
      await delay(60_000, undefined, { signal }).catch(() => {})
      aborted.push(`${payload}: ${signal.reason?.name}`)
      throw signal.reason
    })
    .handle('deaf', async (payload) => {
      gateOf(String(payload)).reach()
      await gateOf(`${payload} ends`).reached
      return 'too late'
    })
  await worker.start()
  cleanUpLater(() => worker.stop({ graceMs: 0 }))
})

const quick = { retry: { delay: 100, jitter: 'none', backoff: 'fixed' } } as const

describe('the life of a task', () => {
  it('is submitted, runs, and its result is waited for', async () => {
    const handle = await duly.submit(greet, { name: 'Ada' })
    expect(handle.receipt.status).toBe('PENDING')
    expect(await handle.result()).toEqual({ greeting: 'Hello, Ada' })
    const record = await handle.get()
    expect(record).toMatchObject({ status: 'SUCCEEDED', attempts: 1, failures: 0, error: null })
    expect(record.completedAt?.getTime()).toBeGreaterThanOrEqual(record.startedAt?.getTime() ?? Number.NaN)
    expect(record.startedAt?.getTime()).toBeGreaterThanOrEqual(record.createdAt.getTime())
    expect(await duly.tasks.attempts(handle.id)).toMatchObject([{ attempt: 1, outcome: 'succeeded' }])
  })

  it('waits for its time', async () => {
    const handle = await duly.submit(greet, { name: 'later' }, { delay: 400 })
    expect(handle.receipt.status).toBe('SCHEDULED')
    await handle.result()
    const { startedAt, scheduledAt } = await handle.get()
    expect(startedAt?.getTime()).toBeGreaterThanOrEqual(scheduledAt?.getTime() ?? Number.NaN)
  })

  it('fails twice, then works', async () => {
    const handle = await duly.submit('flaky', null, quick)
    expect(await handle.result()).toBe(2)
    expect(await handle.get()).toMatchObject({ attempts: 3, failures: 2 })
    expect(await duly.tasks.attempts(handle.id)).toMatchObject([
      { outcome: 'failed', error: { message: 'failure 1' }, retryDelaySeconds: 0.1 },
      { outcome: 'failed', error: { message: 'failure 2' }, retryDelaySeconds: 0.1 },
      { outcome: 'succeeded' },
    ])
  })

  it('dies when its retries are used up, and lives again when it is replayed', async () => {
    const handle = await duly.submit('hopeless', null, { retry: { ...quick.retry, limit: 1 } })
    const error = await handle.result().catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(TaskFailedError)
    expect(error).toMatchObject({ status: 'DEAD', error: { message: 'never works' } })
    const replayed = await duly.tasks.retry(handle.id)
    // a free worker may have it already
    expect(replayed.id).toBe(handle.id)
    expect(replayed.failures).toBeLessThan(2)
    const again = await duly.tasks.wait(handle.id)
    expect(again).toMatchObject({ status: 'DEAD', attempts: 4, failures: 2 })
    expect((await duly.tasks.attempts(handle.id)).map(({ run }) => run)).toEqual([1, 1, 2, 2])
    const transitions = (await duly.tasks.events(handle.id)).map((event) => event.transition)
    expect(transitions.filter((name) => name === 'exhaust')).toHaveLength(2)
    expect(transitions).toContain('replay')
  })

  it('ends at once when its error is permanent', async () => {
    const handle = await duly.submit('permanent')
    await expect(handle.result()).rejects.toMatchObject({
      status: 'FAILED',
      error: { class: 'PermanentError', message: 'the address does not exist' },
    })
    expect(await handle.get()).toMatchObject({ attempts: 1 })
  })

  it('snoozes without a failure, and comes back when it asked to with one', async () => {
    const [nap, busy] = [await duly.submit('nap'), await duly.submit('busy')]
    expect(await nap.result()).toBe(2)
    expect(await nap.get()).toMatchObject({ attempts: 2, failures: 0 })
    expect(await busy.result()).toBe(1)
  })
})

describe('a time limit', () => {
  it('aborts a handler that obeys; the attempt has timed out', async () => {
    const handle = await duly.submit('obedient', 'limit', { timeout: 300, retry: { limit: 0 } })
    await expect(handle.result()).rejects.toMatchObject({ status: 'DEAD', error: { class: 'TimeoutError' } })
    expect(aborted).toContain('limit: TimeoutError')
    expect(await duly.tasks.attempts(handle.id)).toMatchObject([{ outcome: 'timed_out' }])
  })

  it('ends the attempt of a handler that is deaf; its late result counts for nothing', async () => {
    const handle = await duly.submit('deaf', 'deaf limit', { timeout: 300, retry: { limit: 0 } })
    await expect(handle.result()).rejects.toMatchObject({ status: 'DEAD' })
    gateOf('deaf limit ends').reach()
    // what the worker says later goes the same way
    await (await duly.submit(greet, { name: 'next' })).result()
    expect(await handle.get()).toMatchObject({ status: 'DEAD', result: null })
  })
})

describe('cancellation', () => {
  it('ends a waiting task at once, and twice changes nothing', async () => {
    const handle = await duly.submit(greet, { name: 'never' }, { delay: '1h' })
    expect(await handle.cancel()).toMatchObject({ status: 'CANCELLED' })
    expect(await handle.cancel()).toMatchObject({ status: 'CANCELLED' })
    await expect(handle.result()).rejects.toMatchObject({ status: 'CANCELLED' })
  })

  it('stops a running handler by its signal', async () => {
    const handle = await duly.submit('obedient', 'cancelled')
    await gateOf('cancelled').reached
    expect(await handle.cancel()).toMatchObject({ status: 'RUNNING', cancelRequested: true })
    await expect(handle.result()).rejects.toMatchObject({ status: 'CANCELLED' })
    expect(aborted).toContain('cancelled: TaskCancelledError')
  })

  it('ends the attempt of a deaf handler after the grace', async () => {
    const handle = await duly.submit('deaf', 'deaf cancelled')
    await gateOf('deaf cancelled').reached
    await handle.cancel()
    await expect(handle.result()).rejects.toMatchObject({ status: 'CANCELLED' })
    gateOf('deaf cancelled ends').reach()
  })

  it('of a finished task is refused', async () => {
    const handle = await duly.submit(greet, { name: 'done' })
    await handle.result()
    await expect(handle.cancel()).rejects.toMatchObject({ status: 409, code: 'wrong_state' })
    await expect(duly.tasks.retry(handle.id)).rejects.toMatchObject({ status: 409 })
  })
})

describe('submissions', () => {
  it('under a key make one task; another request under it is refused and names the task', async () => {
    const first = await duly.submit(greet, { name: 'once' }, { idempotencyKey: 'welcome-1' })
    const second = await duly.submit(greet, { name: 'once' }, { idempotencyKey: 'welcome-1' })
    expect(second).toMatchObject({ id: first.id, isReplay: true })
    const refused = await duly
      .submit(greet, { name: 'other' }, { idempotencyKey: 'welcome-1' })
      .catch((e: unknown) => e)
    expect(refused).toBeInstanceOf(DulyApiError)
    expect(refused).toMatchObject({ status: 409, code: 'idempotency_conflict' })
    expect(String((refused as Error).message)).toContain(first.id)
  })

  it('in a batch keep their order', async () => {
    const names = Array.from({ length: 500 }, (_, n) => `n${n}`)
    const handles = await duly.tasks.submitBatch(names.map((name) => ({ task: greet, payload: { name } })))
    const results = await Promise.all(handles.map((handle) => handle.result()))
    expect(results).toEqual(names.map((name) => ({ greeting: `Hello, ${name}` })))
  })
})

describe('a record', () => {
  it('is answered when the task ends, or as it stands when the wait is over', async () => {
    const handle = await duly.submit(greet, { name: 'slow' }, { delay: '1h' })
    const beganMs = performance.now()
    expect(await duly.tasks.get(handle.id, { waitSeconds: 0.4 })).toMatchObject({ status: 'SCHEDULED' })
    expect(performance.now() - beganMs).toBeGreaterThan(380)
  })

  it('that does not exist is not found; what is no id is refused', async () => {
    const stranger = 'task-00000000000000000000000000'
    for (const call of [
      () => duly.tasks.get(stranger),
      () => duly.tasks.cancel(stranger),
      () => duly.tasks.retry(stranger),
      () => duly.tasks.attempts(stranger),
      () => duly.tasks.events(stranger),
    ]) {
      await expect(call()).rejects.toMatchObject({ status: 404, code: 'not_found' })
    }
    await expect(duly.tasks.get('task-nonsense')).rejects.toMatchObject({ status: 400 })
  })
})
