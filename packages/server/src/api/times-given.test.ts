import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { testParts } from '../access/testing/test-parts.js'
import { buildApi } from './build-api.js'

describe('a header that is given twice', () => {
  const parts = testParts()
  const api = buildApi(parts)
  let url = ''
  beforeAll(async () => {
    url = await api.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(() => api.close())

  const good = { authorization: 'Bearer admin', 'content-type': 'application/json' }

  async function post(headers: Record<string, string | string[]>): Promise<{ status: number; detail: string }> {
    const call = request(`${url}/api/v1/tasks`, { method: 'POST', headers: { ...good, ...headers } })
    const answer = new Promise<{ status: number; detail: string }>((resolve, reject) => {
      call.on('error', reject)
      call.on('response', (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            detail: (JSON.parse(text || '{}') as { detail?: string }).detail ?? '',
          }),
        )
      })
    })
    call.end('{"task_type":"a"}')
    return answer
  }

  it.each([
    ['authorization', ['Bearer admin', 'Bearer read'], 401],
    ['Authorization', ['Bearer admin', 'Bearer admin'], 401],
    ['content-type', ['application/json', 'text/plain'], 415],
    ['idempotency-key', ['a', 'b'], 400],
    ['Idempotency-Key', ['a', 'a'], 400],
    ['content-length', ['17', '5'], 400],
  ])('is refused: %s %j', async (name, values, status) => {
    const answer = await post({ [name]: values, ...(name === 'Authorization' ? { authorization: [] } : {}) })
    expect(answer).toMatchObject({ status })
    expect(parts.services.submitted).toEqual([])
    if (status !== 400 || name !== 'content-length')
      expect(answer.detail).toMatch(new RegExp(`${name}.* given more than once`, 'i'))
  })

  it('is taken when it is given once', async () => {
    expect(await post({ 'idempotency-key': ['a'] })).toMatchObject({ status: 202 })
    expect(parts.services.submitted).toHaveLength(1)
  })
})
