import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { cleanUpLater } from '../../support/clean-up.js'
import { exchange } from './exchange.js'

async function answering(status: number, body: string): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUpLater(() => server.close())
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

test.each([
  [204, '', { outcome: 'ok', status: 204 }],
  [200, '{"task_id":"x"}', { outcome: 'ok', status: 200, body: { task_id: 'x' } }],
  [409, '{"code":"wrong_state"}', { outcome: 'fail', status: 409, code: 'wrong_state' }],
  [503, '{"code":"commit_unknown"}', { outcome: 'unknown', status: 503 }],
  // a balancer whose server died under the call: nobody knows what became of it
  [502, '', { outcome: 'unknown', status: null }],
])('an answer of %i with %j says what it can', async (status, body, told) => {
  expect(await exchange(await answering(status, body), { method: 'POST', path: '' })).toMatchObject(told)
})
