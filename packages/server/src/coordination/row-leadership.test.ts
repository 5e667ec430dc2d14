import { randomUUID } from 'node:crypto'
import { ManualClock } from '@duly/domain'
import { expect, it } from 'vitest'
import { makeStoreBench } from '../queue/testing/store-bench.js'
import { NodeStore } from '../store/node-store.js'
import { RowLeadership } from './row-leadership.js'
import { type Deployment, leadershipConformance, type Member } from './testing/conformance.js'

const partitions = 64

async function makeDeployment(): Promise<Deployment> {
  // who was not heard of for how long is said by the tests alone
  const bench = await makeStoreBench({ isStill: true })
  const { stores, sql } = bench
  const nodes = new NodeStore(bench.database)
  return {
    partitions,
    join: async () => {
      await bench.time?.move(1)
      const id = randomUUID()
      await nodes.join(id, ['scheduler'], 'test')
      return member(id)
    },
    seats: () => stores.leaders.read(),
    silence: async ({ id }, ms) => {
      await sql(`update store_marks set marked_at = now()`)
      await sql(`update nodes set seen_at = now() - $2 * interval '1 millisecond' where id = $1`, [id, ms])
    },
    outage: async (ms) => {
      await sql(`update store_marks set marked_at = now() - $1 * interval '1 millisecond'`, [ms])
      await sql(`update nodes set seen_at = seen_at - $1 * interval '1 millisecond'`, [ms])
    },
    close: () => bench.close(),
  }

  function member(id: string): Member {
    const clock = new ManualClock()
    const gained: number[] = []
    let freed = 0
    const leadership = new RowLeadership({
      ...{ node: id, partitions, store: stores.leaders, clock },
      renew: () => stores.watch.mark(id),
      onGained: (some) => void gained.push(...some),
      onFreed: () => {
        freed++
      },
    })
    let hasLeft = false
    const leave = async (): Promise<void> => {
      hasLeft = true
      await leadership.resign()
      await nodes.leave(id)
    }
    return {
      id,
      leadership: {
        led: () => leadership.led(),
        runOnce: async () => {
          await bench.time?.move(1)
          // the pulse of a node that was forgotten comes back by itself
          if (!hasLeft && !(await stores.watch.mark(id)).isKnown) await nodes.seen(id, 0, ['scheduler'])
          await leadership.runOnce()
        },
        resign: leave,
      },
      gained,
      freed: () => freed,
      pass: (ms) => clock.advance(ms),
    }
  }
}

leadershipConformance('the rows of nodes', makeDeployment)

it('a renewal is one write, to the row of the node: none to the partitions', async () => {
  const bench = await makeStoreBench()
  const id = randomUUID()
  await new NodeStore(bench.database).join(id, ['scheduler'], 'test')
  const leadership = new RowLeadership({
    ...{ node: id, partitions, store: bench.stores.leaders, clock: new ManualClock() },
    renew: () => bench.stores.watch.mark(id),
    onGained: () => {},
    onFreed: () => {},
  })
  for (let round = 0; round < 3; round++) await leadership.runOnce()
  const rows = `select xmin::text as version from partitions order by partition`
  const before = await bench.sql(rows)
  const [seen] = await bench.sql<{ at: Date }>('select seen_at as at from nodes')
  for (let round = 0; round < 3; round++) await leadership.runOnce()
  expect(await bench.sql(rows)).toEqual(before)
  const [now] = await bench.sql<{ at: Date }>('select seen_at as at from nodes')
  expect(now?.at.getTime()).toBeGreaterThan(seen?.at.getTime() ?? Number.NaN)
  await bench.close()
})

it.each([
  ['the leaders are taken off', 'update partitions set leader = null where partition < 20'],
  ['the epochs are others with the same sum', 'update partitions set epoch = epoch + 1 - 2 * (partition % 2)'],
  ['rows are gone', 'delete from partitions where partition >= 40'],
])('that %s by hand is found within half a minute', async (_, change) => {
  const bench = await makeStoreBench()
  const id = randomUUID()
  await new NodeStore(bench.database).join(id, ['scheduler'], 'test')
  const clock = new ManualClock()
  const leadership = new RowLeadership({
    ...{ node: id, partitions, store: bench.stores.leaders, clock },
    renew: () => bench.stores.watch.mark(id),
    onGained: () => {},
    onFreed: () => {},
  })
  for (let round = 0; round < 3; round++) await leadership.runOnce()
  await bench.sql(change)
  await clock.advance(30_000)
  for (let round = 0; round < 3; round++) await leadership.runOnce()
  const seats = await bench.stores.leaders.read()
  expect(seats.map(({ leader }) => leader)).toEqual(Array(partitions).fill(id))
  expect(leadership.led()).toEqual(new Map(seats.map(({ partition, epoch }) => [partition, epoch])))
  await bench.close()
})
