import { describe, expect, it } from 'vitest'
import { contractErrors, errorsOf, testApi } from '../test-support/test-api.js'

const strange = `a/b:c.${'/'.repeat(122)}`
const path = (name: string, call = '') => `/api/v1/queues/${encodeURIComponent(name)}${call}`

describe('one queue', () => {
  it('is found by its name, URL-encoded, whatever characters the name has', async () => {
    const api = testApi()
    expect(strange).toHaveLength(128)
    api.services.queueNames = [strange]
    const answer = await api.call({ method: 'GET', url: path(strange) })
    expect(answer.json).toMatchObject({ name: strange, paused: false })
    expect(contractErrors('getQueue', answer.status, answer.json)).toEqual([])
    for (const [call, operation] of [
      ['/pause', 'pauseQueue'],
      ['/resume', 'resumeQueue'],
      ['/purge', 'purgeQueue'],
    ] as const) {
      const done = await api.call({ method: 'POST', url: path(strange, call) })
      expect(contractErrors(operation, done.status, done.json)).toEqual([])
    }
  })

  it.each(['a b', 'a%00b', 'ü', '../x%0a', '!suspect', 'a'.repeat(129)])('refuses the name %j', async (name) => {
    const answer = await testApi().call({ method: 'POST', url: path(decodeURIComponent(name), '/pause') })
    expect(answer.status).toBe(400)
    expect(errorsOf(answer).join()).toMatch(/^queue_name: /)
  })

  it('refuses a body, and an unknown queue', async () => {
    const api = testApi()
    const withBody = await api.post(path('default', '/purge'), '{"yes":true}')
    expect([withBody.status, errorsOf(withBody)]).toEqual([400, [': must be left out: this call takes none']])
    expect((await api.call({ method: 'GET', url: path('none') })).status).toBe(404)
    expect((await api.call({ method: 'GET', url: '/api/v1/queues/%zz' })).status).toBe(400)
  })
})

describe('the list', () => {
  const names = Array.from({ length: 120 }, (_, n) => `q${String(n).padStart(3, '0')}`)
  const list = (api: ReturnType<typeof testApi>, query: string) =>
    api.call({ method: 'GET', url: `/api/v1/queues?${query}` })

  it('is read page by page, each queue once', async () => {
    const api = testApi()
    api.services.queueNames = names
    const seen: unknown[] = []
    for (let cursor: unknown = ''; cursor !== null; ) {
      const answer = await list(api, `limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`)
      expect(contractErrors('listQueues', answer.status, answer.json)).toEqual([])
      seen.push(...(answer.json.items as { name: string }[]).map(({ name }) => name))
      cursor = answer.json.next_cursor
    }
    expect(seen).toEqual(names)
  })

  it.each([
    'cursor=x',
    'cursor=',
    `cursor=${Buffer.from('["workers:live","q050"]').toString('base64url')}`,
    `cursor=${Buffer.from('["queues",5]').toString('base64url')}`,
    `cursor=${Buffer.from('["queues","q050"]').toString('base64url')}.`,
    'limit=0',
    'limit=-1',
    'limit=1.5',
    'limit=501',
    'limit=abc',
    'limit=1&limit=2',
    'page=2',
    'after=q050',
  ])('refuses ?%s, rather than to begin again (F133)', async (query) => {
    const answer = await list(testApi(), query)
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toHaveLength(1)
  })
})
