import { afterAll, describe, expect, it } from 'vitest'
import { Duly } from './client/duly.js'
import { defineTask } from './define-task.js'
import { nearestName } from './nearest-name.js'
import { Worker } from './worker/worker.js'

/** Nobody listens there: a call that gets as far as the network ends with another error. */
const duly = new Duly({ url: 'http://127.0.0.1:1', retries: 0 })
afterAll(() => duly.close())

/** As plain JavaScript passes it: nothing checks its type. */
const plain = (options: unknown): never => options as never

const every = { every: '1h' }

describe('an option that nobody knows', () => {
  it.each<[told: string, call: () => unknown]>([
    ['submit: there is no option dely; did you mean delay?', () => duly.submit('x', 1, plain({ dely: '1h' }))],
    ['max_retries; did you mean retry.limit?', () => duly.submit('x', 1, plain({ max_retries: 1 }))],
    ['maxRetries; did you mean retry.limit?', () => duly.submit('x', 1, plain({ maxRetries: 1 }))],
    ['scheduled_at; did you mean scheduledAt?', () => duly.submit('x', 1, plain({ scheduled_at: 'now' }))],
    ['delay_seconds; did you mean delay?', () => duly.submit('x', 1, plain({ delay_seconds: 1 }))],
    ['correlation_id; did you mean metadata.correlation_id?', () => duly.submit('x', 1, plain({ correlation_id: 1 }))],
    ['retry: there is no option limt; did you mean limit?', () => duly.submit('x', 1, { retry: plain({ limt: 1 }) })],
    ['zzz; known are retry, timeout,', () => duly.submit('x', 1, plain({ zzz: 1 }))],
    [
      'item 1: there is no option delay; known are',
      () => duly.tasks.submitBatch([{ task: 'x' }, plain({ task: 'x', delay: 1 })]),
    ],
    ['item 0: there is no option dely;', () => duly.tasks.submitBatch([{ task: 'x', options: plain({ dely: 1 }) }])],
    ['Duly: there is no option apikey; did you mean apiKey?', async () => new Duly(plain({ apikey: 'x' }))],
    ['Worker: there is no option slot; did you mean slots?', async () => new Worker(duly, plain({ slot: 1 }))],
    [
      'Worker: there is no option concurrency; did you mean slots?',
      async () => new Worker(duly, plain({ concurrency: 1 })),
    ],
    [
      'defineTask: there is no option time_out; did you mean timeout?',
      async () => defineTask('x', plain({ time_out: 1 })),
    ],
    ['defineTask, retry: there is no option retries;', async () => defineTask('x', { retry: plain({ retries: 1 }) })],
    [
      'cron.create: there is no option timeZone; did you mean timezone?',
      () => duly.cron.create('a', 'x', plain({ ...every, timeZone: 'UTC' })),
    ],
    [
      'cron.create: there is no option cron_expression; did you mean cron?',
      () => duly.cron.create('a', 'x', plain({ cron_expression: '@daily' })),
    ],
    ['cron.create: there is no option delay;', () => duly.cron.create('a', 'x', plain({ ...every, delay: 1 }))],
    [
      'cron.upsert: there is no option overlapp; did you mean overlap?',
      () => duly.cron.upsert('a', 'x', plain({ ...every, overlapp: 'skip' })),
    ],
    [
      'cron.update: there is no option task_type; did you mean taskType?',
      () => duly.cron.update('a', plain({ task_type: 'x' })),
    ],
    [
      'cron.import: there is no option dryrun; did you mean dryRun?',
      () => duly.cron.import('', plain({ dryrun: true })),
    ],
    ['cron.list: there is no option stauts; did you mean status?', () => duly.cron.list(plain({ stauts: 'ENDED' }))],
    ['tasks.list: there is no option stauts; did you mean status?', () => duly.tasks.list(plain({ stauts: 'DEAD' }))],
    [
      'tasks.edit: there is no option max_retries; did you mean maxRetries?',
      () => duly.tasks.edit('a', plain({ max_retries: 1 })),
    ],
    [
      'cron.preview: there is no option tz; known are cron, every, timezone',
      () => duly.cron.preview(plain({ cron: '@daily', tz: 'UTC' })),
    ],
    ['keys.create: there is no option scope; did you mean scopes?', () => duly.keys.create(plain({ scope: ['read'] }))],
    [
      'keys.create: there is no option expires_at; did you mean expiresAt?',
      () => duly.keys.create(plain({ name: 'a', scopes: ['read'], expires_at: '2030-01-01T00:00:00Z' })),
    ],
    ['stats: there is no option windows; did you mean window?', () => duly.stats(plain({ windows: '1h' }))],
    ['stats: there is no option window_seconds; did you mean window?', () => duly.stats(plain({ window_seconds: 60 }))],
    [
      'tasks.get: there is no option wait_seconds; did you mean waitSeconds?',
      () => duly.tasks.get('a', plain({ wait_seconds: 1 })),
    ],
    [
      'submitBatch: there is no option sginal; did you mean signal?',
      () => duly.tasks.submitBatch([], plain({ sginal: 1 })),
    ],
    ['tasks.list: there is no option limits; did you mean limit?', () => duly.tasks.list({}, plain({ limits: 1 }))],
    [
      'tasks.list: there is no option next_cursor; did you mean cursor?',
      () => duly.tasks.all({}, plain({ next_cursor: 'x' })).next(),
    ],
    ['tasks.runs: there is no option limt; did you mean limit?', () => duly.tasks.runs('a', plain({ limt: 1 }))],
    ['cron.list: there is no option page_size; did you mean limit?', () => duly.cron.list({}, plain({ page_size: 1 }))],
    [
      'cron.firings: there is no option curser; did you mean cursor?',
      () => duly.cron.firings('a', plain({ curser: 'x' })),
    ],
    [
      'cron.preview: there is no option cuont; did you mean count?',
      () => duly.cron.preview(plain(every), plain({ cuont: 1 })),
    ],
    [
      'cron.getByName: there is no option tenant_id; did you mean tenant?',
      () => duly.cron.getByName('a', plain({ tenant_id: 'x' })),
    ],
    [
      'workers.list: there is no option status; did you mean state?',
      () => duly.workers.list(plain({ status: 'live' })),
    ],
    [
      'queues.purge: there is no option onprogress; did you mean onProgress?',
      () => duly.queues.purge('a', plain({ onprogress: () => {} })),
    ],
    ['tasks.wait: there is no option timout; did you mean timeout?', () => duly.tasks.wait('a', plain({ timout: 1 }))],
  ])('is refused: %s', async (told, call) => {
    const error = await Promise.resolve()
      .then(call)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect((error as TypeError).message).toContain(told)
  })
})

describe('options that are none', () => {
  it.each<[told: string, call: () => unknown]>([
    [
      'cron.create: the options must be an object, such as { cron: … }',
      () => duly.cron.create('a', 'x', plain('@daily')),
    ],
    ['cron.preview: the options must be an object, such as { cron: … }', () => duly.cron.preview(plain('@daily'))],
    ['Duly: the options must be an object, such as { url: … }', async () => new Duly(plain('http://127.0.0.1'))],
    ['cron.list: the options must be an object', () => duly.cron.list(plain(['ACTIVE']))],
  ])('are refused: %s', async (told, call) => {
    await expect(Promise.resolve().then(call)).rejects.toThrow(told)
  })
})

describe('the nearest name', () => {
  it.each([
    ['dely', ['delay', 'timeout'], 'delay'],
    ['DULY_PROT', ['DULY_PORT', 'DULY_HOST'], 'DULY_PORT'],
    ['abc', ['xyz'], undefined],
    ['ab', [], undefined],
    ['timeout', ['timeout_seconds', 'task_type'], 'timeout_seconds'],
    ['type', ['timeout_seconds', 'task_type'], 'task_type'],
    ['queueName', ['queue', 'priority'], 'queue'],
    // of several none is said to be meant
    ['key', ['idempotency_key', 'concurrency_key'], undefined],
    // a unit that all share makes them no nearer
    ['delay_seconds', ['every_seconds', 'timeout_seconds'], undefined],
    ['db_url', ['url', 'api_key'], undefined],
  ])('of %s in %j is %s', (wrong, names, nearest) => {
    expect(nearestName(wrong, names)).toBe(nearest)
  })
})
