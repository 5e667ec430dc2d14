import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { cli } from '../testing/captured-cli.js'

const PAYLOAD = '{"z":12345678901234567890,"a":-0}'
const RESULT = '{"sum":1e400,"n":[1.0,98765432109876543210]}'
const COUNTS =
  '"max_retries":5,"timeout_seconds":90,"attempts":1,"failures":0,"crashes":0,"tags":[],"error":null,"reason":null,"duration_ms":5'
const RECORD = `{"task_id":"task-1","status":"SUCCEEDED","payload":${PAYLOAD},"result":${RESULT},${COUNTS}}`

/** The address of a server that accepts one task and tells that it is done; of any list, one item. */
async function finishedTask(record = RECORD): Promise<string> {
  const server = createServer((request, response) => {
    const isList = /(attempts|events)$/.test(request.url ?? '')
    response.writeHead(request.method === 'POST' ? 202 : 200, { 'content-type': 'application/json' })
    response.end(isList ? `{"items":[{"detail":${RESULT}}],"next_cursor":null}` : record)
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const compact = (text: string) => text.replaceAll(/\s/g, '')

it("shows a task's payload and result with the digits that the server told", async () => {
  const at = ['--url', await finishedTask()]
  const { out } = await cli(['task', 'get', 'task-1', ...at])
  expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual(
    expect.arrayContaining([
      ['payload', PAYLOAD],
      ['result', RESULT],
    ]),
  )
  expect(compact((await cli(['task', 'get', 'task-1', '--json', ...at])).out)).toBe(RECORD)
  const submit = ['task', 'submit', 'sums', '--wait', ...at]
  expect(compact((await cli(submit)).out)).toBe(RESULT)
  expect(compact((await cli([...submit, '--json'])).out)).toBe(RECORD)
})

it('shows what limits a task, and the names that its user gave it, where it has any', async () => {
  const { out } = await cli(['task', 'get', 'task-1', '--url', await finishedTask()])
  expect(out).toMatch(/^max retries +5$/m)
  expect(out).toMatch(/^time limit +90 s an attempt$/m)
  expect(out).not.toMatch(/^(?:expires|idempotency key|correlation id)/m)
  const metadata = '{"correlation_id":"order-7","n":1}'
  const record = RECORD.replace(
    '"tags"',
    `"expires_at":"2026-04-04T09:00:00.000Z","idempotency_key":"welcome-1","metadata":${metadata},"tags"`,
  )
  const named = (await cli(['task', 'get', 'task-1', '--url', await finishedTask(record)])).out
  expect(named).toMatch(/^expires +2026-04-04T09:00:00.000Z$/m)
  expect(named).toMatch(/^idempotency key +welcome-1$/m)
  expect(named).toMatch(/^correlation id +order-7$/m)
})

it('shows when a task comes, and which recurring task made it', async () => {
  const due = new Date(Date.now() + 3 * 86_400_000 + 60_000).toISOString()
  const made = `"due_at":"${due}","cron_id":"cron-01kf3v7q2n8f5w9r6x4y1z0abc","tags"`
  const record = RECORD.replace('SUCCEEDED', 'SCHEDULED').replace('"tags"', made)
  const { out } = await cli(['task', 'get', 'task-1', '--url', await finishedTask(record)])
  expect(out).toMatch(new RegExp(`^due +${due}, in 3 d$`, 'm'))
  expect(out).toMatch(/^recurring task +cron-01kf3v7q2n8f5w9r6x4y1z0abc$/m)
})

it('says of a delayed task when it comes', async () => {
  const scheduledAt = new Date(Date.now() + 3 * 86_400_000 + 60_000).toISOString()
  const taken = `{"task_id":"task-1","status":"SCHEDULED","scheduled_at":"${scheduledAt}","created_at":null}`
  const at = ['--url', await finishedTask(taken)]
  const { out } = await cli(['task', 'submit', 'mail', '--delay', '3d', ...at])
  expect(out).toBe(`task-1  SCHEDULED  due ${scheduledAt}, in 3 d\n`)
  const now = ['--url', await finishedTask('{"task_id":"task-1","status":"PENDING","scheduled_at":null}')]
  expect((await cli(['task', 'submit', 'mail', ...now])).out).toBe('task-1  PENDING\n')
})

it.each(['attempts', 'events'])('shows the %s of a task as JSON with the digits that the server told', async (list) => {
  const { out } = await cli(['task', list, 'task-1', '--json', '--url', await finishedTask()])
  expect(compact(out)).toBe(`{"items":[{"detail":${RESULT}}],"next_cursor":null}`)
})
