import { expect, it } from 'vitest'
import { contractErrors, errorsOf, testApi } from '../test-support/test-api.js'

const get = (query: string) => testApi().call({ method: 'GET', url: `/api/v1/stats${query}` })

it.each(['', '?window_seconds=60', '?by=task_type', '?window_seconds=604800&by=tenant'])(
  'answers %j as the contract says',
  async (query) => {
    const answer = await get(query)
    expect(contractErrors('getStats', answer.status, answer.json)).toEqual([])
    expect(answer.json).toMatchObject({
      totals: { run_seconds: { p50: 0.001, p99: 1.234 }, wait_seconds: null, depth: 7 },
    })
  },
)

it.each([
  'window_seconds=59',
  'window_seconds=604801',
  'window_seconds=60.5',
  'window_seconds=x',
  'by=worker',
  'from=x',
  'by=queue&by=tenant',
])('refuses ?%s', async (query) => {
  const answer = await get(`?${query}`)
  expect(answer.status).toBe(400)
  expect(errorsOf(answer)).toHaveLength(1)
})
