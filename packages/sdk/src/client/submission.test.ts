import { expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { rawJson } from './raw-json.js'
import { encodeSubmission, toSubmission } from './submission.js'

const sent = async (...args: Parameters<typeof toSubmission>) => JSON.parse(JSON.stringify(await toSubmission(...args)))

it('sends only what was given', async () => {
  expect(await sent('x', undefined, {})).toEqual({ task_type: 'x' })
  expect(await sent('x', null, { retry: {} })).toEqual({ task_type: 'x', payload: null })
})

it('sends every option under its name on the wire', async () => {
  const options = {
    delay: '24h',
    expiresAt: new Date('2026-04-05T00:00:00Z'),
    idempotencyKey: 'welcome-1',
    priority: 'high',
    queue: 'email-queue',
    tenant: 'acme',
    metadata: { correlation_id: 'req' },
    tags: ['a'],
    concurrencyKey: 'user-1',
    resultTtl: '7d',
    timeout: '500ms',
    retry: { limit: 5, backoff: 'linear', delay: '1m', maxDelay: '1h', jitter: 'equal' },
  } as const
  expect(await sent('x', 1, options)).toEqual({
    task_type: 'x',
    payload: 1,
    delay_seconds: 86_400,
    expires_at: '2026-04-05T00:00:00.000Z',
    idempotency_key: 'welcome-1',
    priority: 'high',
    queue: 'email-queue',
    metadata: { correlation_id: 'req', tenant_id: 'acme' },
    tags: ['a'],
    concurrency_key: 'user-1',
    result_ttl_seconds: 604_800,
    timeout_seconds: 0.5,
    max_retries: 5,
    retry_backoff: 'linear',
    retry_delay_seconds: 60,
    retry_max_delay_seconds: 3_600,
    retry_jitter: 'equal',
  })
  expect(await sent('x', 1, { scheduledAt: '2026-04-04T09:00:00Z' })).toMatchObject({
    scheduled_at: '2026-04-04T09:00:00Z',
  })
})

it("puts a submission's options over the definition's settings", async () => {
  const task = defineTask('x', {
    payload: type<number>(),
    queue: 'a',
    timeout: '30s',
    retry: { limit: 5, delay: '1s' },
  })
  expect(await sent(task, 1, { queue: 'b', retry: { limit: 0 } })).toEqual({
    task_type: 'x',
    payload: 1,
    queue: 'b',
    timeout_seconds: 30,
    max_retries: 0,
    retry_delay_seconds: 1,
  })
})

it('checks the payload, and sends it as it was given: the worker decodes it', async () => {
  const upper: StandardSchema<string, string> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) =>
        typeof value === 'string' ? { value: value.toUpperCase() } : { issues: [{ message: 'text!' }] },
    },
  }
  const task = defineTask('x', { payload: upper })
  expect(await sent(task, 'abc', {})).toMatchObject({ payload: 'abc' })
  await expect(sent(task, 5, {})).rejects.toMatchObject({ name: 'InvalidPayloadError', issues: [{ message: 'text!' }] })
})

it('sends payload and metadata that are JSON text as they are written, with the tenant among the metadata', async () => {
  const metadata = rawJson('{ "n": 1.0, "tenant_id": "x" }')
  const text = async (options: Parameters<typeof toSubmission>[2]) =>
    encodeSubmission(await toSubmission('x', rawJson('[-0]'), options))
  expect(await text({ metadata })).toBe('{"task_type":"x","payload":[-0],"metadata":{ "n": 1.0, "tenant_id": "x" }}')
  expect(await text({ metadata, tenant: 'acme' })).toBe(
    '{"task_type":"x","payload":[-0],"metadata":{"n":1.0,"tenant_id":"acme"}}',
  )
})
