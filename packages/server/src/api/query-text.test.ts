import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { parseQuery, UNREADABLE } from './query-text.js'
import { errorsOf, testApi } from './test-support/test-api.js'

describe('a query', () => {
  it('gives back what URLSearchParams wrote', () => {
    const text = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name }), (pairs) => {
        expect(Object.entries(parseQuery(new URLSearchParams(pairs).toString()))).toEqual(
          Object.entries(Object.assign(Object.create(null), Object.fromEntries(pairs))),
        )
      }),
    )
  })

  it.each([
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['a&b=&=c&&', { a: '', b: '', '': 'c' }],
    ['a=%2B+%20=', { a: '+  =' }],
    ['a=%FF&b=1', { a: UNREADABLE, b: '1' }],
    ['a=%C0%80&b=%ED%A0%80&c=%', { a: UNREADABLE, b: UNREADABLE, c: UNREADABLE }],
    ['%FF=1', { '%FF': UNREADABLE }],
    ['a=\xc3\xa9', { a: UNREADABLE }],
  ])('%j is read so', (text, values) => {
    expect({ ...parseQuery(text) }).toEqual(values)
  })

  it('leaves nothing out', () => {
    const text = Array.from({ length: 2_000 }, (_, at) => `p${at}=1`).join('&')
    expect(Object.keys(parseQuery(text))).toHaveLength(2_000)
  })
})

describe('an address that holds no text', () => {
  const api = testApi()
  afterAll(() => api.app.close())

  it.each([
    ['task_type=%FF', 'task_type: is not UTF-8 in percent-encoding'],
    ['task_type=a%80b&queue=%00', 'task_type: is not UTF-8 in percent-encoding'],
    ['queue=a%00', 'queue: must not hold NUL'],
    ['cursor=%00', 'cursor: must not hold NUL'],
    ['%FF=1', '%FF: is not UTF-8 in percent-encoding'],
  ])('is refused by the name of its parameter: %s', async (query, error) => {
    const answer = await api.call({ method: 'GET', url: `/api/v1/tasks?${query}` })
    expect(answer.status).toBe(400)
    expect(errorsOf(answer)).toContain(error)
    expect(api.services.listed).toEqual([])
  })

  it.each(['%FF', 'a%C0%80', 'a%00b'])('is refused in a path: %s', async (name) => {
    expect(await api.call({ method: 'GET', url: `/api/v1/queues/${name}` })).toMatchObject({
      status: 400,
      json: { code: 'invalid_request' },
    })
  })

  it('does not bother a probe', async () => {
    expect(await api.call({ method: 'GET', url: '/healthz?at=%FF' })).toMatchObject({ status: 200 })
  })
})
