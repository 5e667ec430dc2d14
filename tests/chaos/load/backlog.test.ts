import { expect, test } from 'vitest'
import { Backlog } from './backlog.js'

test('clients wait while more is open than the limit, and go on when there is room', async () => {
  const counts = [3, 3, 2]
  const backlog = new Backlog({ count: async () => counts.shift() ?? 0, limit: 2 })
  await backlog.untilRoom()
  expect(counts).toEqual([])
  expect(backlog.highest).toBe(3)
})

test('a store that can not be asked, or hangs, holds nobody up', async () => {
  const refused = new Backlog({ count: () => Promise.reject(new Error('refused')), limit: 0 })
  await refused.untilRoom()
  let questions = 0
  const silent = new Backlog({
    count: () => {
      questions += 1
      return new Promise(() => {})
    },
    limit: 0,
  })
  await Promise.all([silent.untilRoom(), silent.untilRoom()])
  await silent.untilRoom()
  expect(questions).toBe(1)
})

test('who is told to stop waits for no room', async () => {
  const stopping = new AbortController()
  const backlog = new Backlog({
    count: async () => {
      stopping.abort()
      return 1
    },
    limit: 0,
  })
  await backlog.untilRoom(stopping.signal)
  expect(backlog.highest).toBe(1)
})
