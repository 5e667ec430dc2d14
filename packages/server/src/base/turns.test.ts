import { expect, it } from 'vitest'
import { busy } from './busy.js'
import { Turns } from './turns.js'

const refusal = () => busy('requests')
const turn = () => new Promise((resolve) => setImmediate(resolve))

it('runs so many at a time, in their order, and goes on after an error', async () => {
  const turns = new Turns({ width: 2, mostWaiting: 10, refusal })
  const began: number[] = []
  const ends: (() => void)[] = []
  const all = [0, 1, 2, 3].map((n) =>
    turns.run(async () => {
      began.push(n)
      await new Promise<void>((end) => ends.push(end))
      if (n === 0) throw new Error('failed')
      return n
    }),
  )
  const settled = Promise.allSettled(all)
  await turn()
  expect(began).toEqual([0, 1])
  ends[0]?.()
  await turn()
  expect(began).toEqual([0, 1, 2])
  ends[2]?.()
  ends[1]?.()
  await turn()
  ends[3]?.()
  const values = (await settled).map((each) => (each.status === 'fulfilled' ? each.value : 'failed'))
  expect([began, values]).toEqual([
    [0, 1, 2, 3],
    ['failed', 1, 2, 3],
  ])
})

it('refuses what would have to wait behind too many', async () => {
  const turns = new Turns({ width: 1, mostWaiting: 1, refusal })
  const first = turns.run(turn)
  const second = turns.run(turn)
  await expect(turns.run(turn)).rejects.toThrow('More requests wait')
  await Promise.all([first, second])
  await turns.run(turn)
})
