import { expect, it } from 'vitest'
import { classifyHttpError, httpRetryAfterMs } from './classify.js'

const PERMANENT = [400, 401, 403, 404, 405, 410, 422]
const TRANSIENT = [408, 409, 425, 429, 500, 501, 502, 503, 504]

it('judges a status, wherever the HTTP client put it', () => {
  const shapes = [
    (status: number) => ({ status }),
    (status: number) => ({ statusCode: status }),
    (status: number) => Object.assign(new Error(), { response: { status } }),
    (status: number) => ({ response: { statusCode: status } }),
  ]
  for (const shape of shapes) {
    for (const status of PERMANENT) expect(classifyHttpError(shape(status))).toBe('permanent')
    for (const status of TRANSIENT) expect(classifyHttpError(shape(status))).toBe('transient')
  }
})

it('takes failures of the connection, and anything unknown, for transient', () => {
  for (const code of ['ENOTFOUND', 'EAI_AGAIN', 'ECONNRESET', 'ECONNREFUSED', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']) {
    expect(classifyHttpError(Object.assign(new Error(), { code }))).toBe('transient')
  }
  for (const odd of [null, undefined, 'text', 404, { status: '404' }]) expect(classifyHttpError(odd)).toBe('transient')
})

it('reads Retry-After as seconds and as a date', () => {
  const now = Date.parse('2026-04-04T09:00:00Z')
  expect(httpRetryAfterMs({ response: { headers: { 'retry-after': '30' } } }, now)).toBe(30_000)
  expect(httpRetryAfterMs({ headers: new Headers({ 'Retry-After': 'Sat, 04 Apr 2026 09:01:00 GMT' }) }, now)).toBe(
    60_000,
  )
  expect(httpRetryAfterMs({ headers: { 'Retry-After': 'soon' } }, now)).toBeNull()
  expect(httpRetryAfterMs(new Error(), now)).toBeNull()
})
