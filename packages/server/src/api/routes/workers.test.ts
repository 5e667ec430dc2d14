import { decodeId } from '@duly/domain'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { contractErrors, errorsOf, type TestApi, testApi } from '../test-support/test-api.js'

let api: TestApi
let worker: string

const registration = {
  name: 'mailer',
  host: 'web-3',
  version: '1.4.0',
  queues: ['email'],
  task_types: ['send'],
  slots: 10,
}

beforeEach(async () => {
  api = testApi()
  const answer = await api.post('/api/v1/workers', JSON.stringify(registration))
  worker = `/api/v1/workers/${String(answer.json.worker_id)}`
})
afterAll(() => api.app.close())

const post = (path: string, body: object) => api.post(`${worker}/${path}`, JSON.stringify(body))

/** A task that waits, as its id on the wire. */
async function waiting(payload = '{"x":1}'): Promise<string> {
  const answer = await api.post('/api/v1/tasks', `{"task_type":"send","payload":${payload}}`)
  return String(answer.json.task_id)
}

describe('sessions', () => {
  it('open, with what the worker must keep to', async () => {
    const answer = await api.post('/api/v1/workers', JSON.stringify({ ...registration, heartbeat_seconds: 2 }))
    expect(answer).toMatchObject({ status: 201, json: { heartbeat_seconds: 5, lease_seconds: 15 } })
    expect(contractErrors('registerWorker', 201, answer.json)).toEqual([])
  })

  it('are refused without queues, types or slots', async () => {
    const answer = await api.post('/api/v1/workers', '{"name":"x","queues":[],"task_types":["*"],"slots":0}')
    expect(errorsOf(answer)).toEqual([
      'queues: must not be empty',
      'task_types[0]: must be a name: 1 to 128 of A-Z a-z 0-9 . _ - : /',
      'slots: must be at least 1',
    ])
  })

  it('end once, and are lost from then on', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(await api.call({ method: 'DELETE', url: worker, headers })).toMatchObject({ status: 204, text: '' })
    expect(await api.call({ method: 'DELETE', url: worker })).toMatchObject({
      status: 409,
      json: { code: 'session_lost' },
    })
    for (const [path, body] of [
      ['poll', { slots: 1 }],
      ['report', { reports: [] }],
      ['exchange', { slots: 0 }],
      ['heartbeat', {}],
    ] as const) {
      expect(await post(path, body)).toMatchObject({ status: 409, json: { code: 'session_lost' } })
    }
  })
})

describe('poll', () => {
  it('grants tasks with their payloads as they were written', async () => {
    const id = await waiting('{ "n":9007199254740993 }')
    const answer = await post('poll', { slots: 4, wait_seconds: 30, received: 17 })
    expect(answer.status).toBe(200)
    expect(contractErrors('pollTasks', 200, answer.json)).toEqual([])
    expect(answer.text).toContain('"payload":{ "n":9007199254740993 },"timeout_ms":300000')
    expect(answer.json.tasks).toMatchObject([
      { grant: 1, task_id: id, attempt: 1, dependency_results: {}, checkpoint: null },
    ])
  })

  it('with no slots only acknowledges', async () => {
    await waiting()
    expect((await post('poll', { slots: 0 })).json).toEqual({ tasks: [] })
  })

  it('takes at most 500 slots and waits at most 60 s', async () => {
    expect(errorsOf(await post('poll', { slots: 501, wait_seconds: 60.5, received: -1 }))).toEqual([
      'slots: must be at most 500',
      'wait_seconds: must be at most 60',
      'received: must be at least 0',
    ])
  })
})

describe('report', () => {
  const lease = '1-0000000000000001'

  it('judges each alone and passes results on as text', async () => {
    const id = await waiting()
    const gone = `task-${'0'.repeat(26)}`
    const body = `{"reports":[{"task_id":"${id}","lease":"${lease}","outcome":"succeeded","result":{ "big":12345678901234567890 }},
      {"task_id":"${gone}","lease":"${lease}","outcome":"released"}]}`
    const answer = await api.post(`${worker}/report`, body)
    expect(contractErrors('reportOutcomes', 200, answer.json)).toEqual([])
    expect(answer.json.results).toEqual([
      { task_id: id, accepted: true, status: 'SUCCEEDED' },
      { task_id: gone, accepted: false, code: 'lease_lost' },
    ])
    expect(api.services.reports[0]).toMatchObject({ outcome: 'succeeded', result: '{ "big":12345678901234567890 }' })
  })

  it('maps every outcome', async () => {
    const base = { task_id: await waiting(), lease }
    const error = { class: 'SmtpError', message: 'busy', stack: 'at x', retryable: false, timed_out: true }
    await post('report', {
      reports: [
        { ...base, outcome: 'succeeded' },
        { ...base, outcome: 'failed', error, retry_after_seconds: 30 },
        { ...base, outcome: 'failed' },
        { ...base, outcome: 'snoozed', delay_seconds: 600 },
        { ...base, outcome: 'cancelled' },
        { ...base, outcome: 'released' },
      ],
    })
    expect(api.services.reports.map(({ id: _, lease: __, ...report }) => report)).toEqual([
      { outcome: 'succeeded', result: null },
      {
        ...{ outcome: 'failed', error: { class: 'SmtpError', message: 'busy', stack: 'at x' } },
        ...{ retryable: false, retryAfterMs: 30_000, timedOut: true },
      },
      {
        ...{ outcome: 'failed', error: { class: 'Error', message: '', stack: null } },
        ...{ retryable: true, retryAfterMs: null, timedOut: false },
      },
      { outcome: 'snoozed', delayMs: 600_000 },
      { outcome: 'cancelled' },
      { outcome: 'released' },
    ])
  })

  it('cleans and cuts the texts of errors in place of refusing them', async () => {
    const id = await waiting()
    const text = (message: string) =>
      `{"reports":[{"task_id":"${id}","lease":"${lease}","outcome":"failed","error":{"class":"${'é'.repeat(300)}","message":"${message}","stack":"\\ud800${'x'.repeat(40_000)}"}}]}`
    const answer = await api.post(`${worker}/report`, text(`\\u0000 C:\\\\u0000 ${'😀'.repeat(3_000)}`))
    expect(answer.status).toBe(200)
    const [report] = api.services.reports
    if (report?.outcome !== 'failed') throw new Error('not a failure')
    expect(report.error.class).toBe('é'.repeat(200))
    expect(report.error.message.startsWith('\ufffd C:\\u0000 😀')).toBe(true)
    expect(Buffer.byteLength(report.error.message)).toBeLessThanOrEqual(8_192)
    expect(report.error.message.endsWith('😀')).toBe(true)
    expect(report.error.stack).toHaveLength(32_768 - 2)
  })

  it('refuses fields of another outcome, and NUL outside error texts', async () => {
    const base = { task_id: await waiting(), lease }
    const answer = await post('report', {
      reports: [
        { ...base, outcome: 'succeeded', delay_seconds: 1, error: { message: 'x' } },
        { ...base, outcome: 'snoozed' },
        { ...base, outcome: 'succeeded', result: '\0' },
        { ...base, outcome: 'done', lease: '' },
      ],
    })
    expect(errorsOf(answer).sort()).toEqual([
      'reports[0].delay_seconds: belongs to the outcome snoozed only',
      'reports[0].error: belongs to the outcome failed only',
      'reports[1].delay_seconds: is required with the outcome snoozed',
      expect.stringMatching(/^reports\[2\]\.result: holds the character U\+0000/),
      'reports[3].lease: must not be empty',
      'reports[3].outcome: must be one of succeeded, failed, snoozed, cancelled, released',
    ])
    expect(api.services.reports).toEqual([])
  })

  it('answers 413 to a result over the limit, naming the report', async () => {
    const base = { task_id: await waiting(), lease, outcome: 'succeeded' }
    const answer = await post('report', { reports: [base, { ...base, result: 'x'.repeat(1_048_575) }] })
    expect(answer).toMatchObject({ status: 413, json: { code: 'too_large' } })
    expect(errorsOf(answer)).toEqual(['reports[1].result: has 1048577 bytes; at most 1048576 are taken'])
  })
})

it('exchanges reports for tasks', async () => {
  const id = await waiting()
  const answer = await post('exchange', {
    reports: [{ task_id: id, lease: '1-0000000000000001', outcome: 'released' }],
    slots: 2,
    received: 1,
  })
  expect(contractErrors('exchange', 200, answer.json)).toEqual([])
  expect(answer.json).toMatchObject({ results: [{ task_id: id, accepted: true }], tasks: [{ task_id: id }] })
})

describe('heartbeat', () => {
  it('passes on what the worker says and answers what it must do', async () => {
    const body = `{"received":18,"leases":["1-a"],"progress":[{"lease":"1-a","percent":40,"note":"ha\\u0000lf"}],
      "checkpoints":[{"lease":"1-a","value":{ "at":1e21 }}],"lag_ms":3,"rss_bytes":91000000,"logs_after":7,
      "logs":[{"lease":"1-a","at":"2026-11-29T10:00:00+01:00","level":"warn","message":"al\\u0000most"},
        {"lease":"1-a","task_id":"task-01m8m8g63ye0v964cp0nfyyggj","at":"2026-11-29T10:00:00Z","level":"info","message":""}]}`
    const answer = await api.post(`${worker}/heartbeat`, body)
    expect(contractErrors('heartbeat', 200, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({
      cancel: [{ reason: 'cancel_requested' }],
      lost: ['2-00000000000000ff'],
      drain: false,
    })
    expect(api.services.beats).toEqual([
      {
        ...{ received: 18, leases: ['1-a'], waitMs: 0, lagMs: 3, rssBytes: 91_000_000 },
        progress: [{ lease: '1-a', percent: 40, note: 'ha\ufffdlf' }],
        checkpoints: [{ lease: '1-a', value: '{ "at":1e21 }' }],
        logs: [
          {
            lease: '1-a',
            id: null,
            number: 8,
            atMs: Date.UTC(2026, 10, 29, 9),
            level: 'warn',
            message: 'al\ufffdmost',
          },
          {
            ...{ lease: '1-a', id: decodeId('task', 'task-01m8m8g63ye0v964cp0nfyyggj'), number: 9 },
            ...{ atMs: Date.UTC(2026, 10, 29, 10), level: 'info', message: '' },
          },
        ],
      },
    ])
  })

  it('refuses checkpoints over 256 KiB', async () => {
    const answer = await post('heartbeat', { checkpoints: [{ lease: '1-a', value: 'x'.repeat(262_143) }] })
    expect(answer).toMatchObject({ status: 413 })
    expect(errorsOf(answer)[0]).toMatch(/^checkpoints\[0\]\.value: has 262145 bytes/)
  })
})
