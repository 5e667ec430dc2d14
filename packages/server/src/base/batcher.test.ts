import { describe, expect, test } from 'vitest'
import { Batcher, type BatcherOptions } from './batcher.js'

/** Batches whose end the test decides. */
function held(options: Partial<Pick<BatcherOptions<number, number>, 'maxItems' | 'maxBytes' | 'lanes' | 'full'>> = {}) {
  const runs: {
    items: readonly number[]
    lane: number
    end: (results: readonly (number | Error)[]) => void
    fail: (error: Error) => void
  }[] = []
  const batcher = new Batcher<number, number>({
    ...{ maxItems: 100, maxBytes: 1_000, lanes: 1, full: { items: 100, bytes: 1_000 }, ...options },
    sizeOf: (item) => item,
    run: (items, lane) => new Promise((end, fail) => runs.push({ items, lane, end, fail })),
  })
  return { batcher, runs }
}

const turn = () => new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)))
const items = (runs: readonly { items: readonly number[] }[]) => runs.map((run) => run.items)

describe('the batcher', () => {
  test('sends a lone item in the same turn, and all of one turn together', async () => {
    const { batcher, runs } = held()
    const sums = [1, 2, 3].map((item) => batcher.add(item))
    expect(runs).toEqual([])
    await turn()
    expect(items(runs)).toEqual([[1, 2, 3]])
    runs[0]?.end([10, 20, 30])
    expect(await Promise.all(sums)).toEqual([10, 20, 30])
  })

  test('gathers while a batch is under way, in the order of arrival, within its limits', async () => {
    const { batcher, runs } = held({ maxItems: 3, maxBytes: 100 })
    const adding = [1, 2, 3, 4, 60, 50, 500, 7].map((item) => batcher.add(item))
    await turn()
    expect(items(runs)).toEqual([[1, 2, 3]])
    expect(batcher.waiting).toBe(5)
    for (const [index, expected] of [[4, 60], [50], [500], [7]].entries()) {
      runs[index]?.end(runs[index]?.items ?? [])
      await turn()
      // an item larger than a whole batch stands alone
      expect(runs[index + 1]?.items).toEqual(expected)
    }
    runs[4]?.end([7])
    expect(await Promise.all(adding)).toEqual([1, 2, 3, 4, 60, 50, 500, 7])
  })

  test('uses as many lanes as it has, and each for one batch at a time', async () => {
    const { batcher, runs } = held({ maxItems: 1, lanes: 2 })
    const adding = [1, 2, 3, 4].map((item) => batcher.add(item))
    await turn()
    await turn()
    expect(runs.map(({ lane }) => lane).sort()).toEqual([0, 1])
    runs[1]?.end([2])
    await turn()
    expect(runs[2]?.lane).toBe(runs[1]?.lane)
    for (const run of runs) run.end(run.items)
    await turn()
    expect(runs.length).toBe(4)
    runs[3]?.end([4])
    expect(await Promise.all(adding)).toEqual([1, 2, 3, 4])
  })

  test('an error as a result rejects that item alone; a batch that fails rejects all of its own, and the next goes on', async () => {
    const { batcher, runs } = held()
    const first = Promise.allSettled([1, 2].map((item) => batcher.add(item)))
    await turn()
    const second = Promise.allSettled([3, 4].map((item) => batcher.add(item)))
    runs[0]?.end([new Error('guilty'), 2])
    expect(await first).toMatchObject([{ reason: { message: 'guilty' } }, { value: 2 }])
    await turn()
    const third = batcher.add(5)
    runs[1]?.fail(new Error('gone'))
    expect(await second).toMatchObject([{ reason: { message: 'gone' } }, { reason: { message: 'gone' } }])
    await turn()
    runs[2]?.end([5])
    expect(await third).toBe(5)
  })

  test.each([
    ['items', { items: 2, bytes: 1_000 }, [1, 1, 1]],
    ['bytes', { items: 100, bytes: 15 }, [1, 9, 7]],
  ] as const)(
    'is full while its limit of %s waits, and has room again when they left',
    async (_, full, [first, ...more]) => {
      const { batcher, runs } = held({ full })
      const adding = [batcher.add(first)]
      await turn()
      expect(batcher.isFull).toBe(false)
      adding.push(...more.map((item) => batcher.add(item)))
      expect(batcher.isFull).toBe(true)
      runs[0]?.end([first])
      await turn()
      expect(batcher.isFull).toBe(false)
      runs[1]?.end(more)
      await Promise.all(adding)
    },
  )

  test('is drained when nothing waits and nothing is under way', async () => {
    const { batcher, runs } = held({ maxItems: 1 })
    await batcher.drained()
    const adding = [1, 2].map((item) => batcher.add(item))
    let isDrained = false
    const drained = batcher.drained().then(() => {
      isDrained = true
    })
    await turn()
    runs[0]?.end([1])
    await turn()
    expect(isDrained).toBe(false)
    runs[1]?.fail(new Error('also an end'))
    await Promise.allSettled(adding)
    await drained
  })
})
