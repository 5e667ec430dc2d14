import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Seat } from '../store/leader-store.js'
import { planMove } from './shares.js'

const nodeNames = ['a', 'b', 'c', 'd', 'e', 'f']

/** Seats as a table that refuses what it must: a taker of a seat at another epoch, or of one that a living node holds. */
class Table {
  seats: Seat[]
  moves = 0

  constructor(leaders: readonly (string | null)[]) {
    this.seats = leaders.map((leader, partition) => ({ partition, leader, epoch: 0 }))
  }

  pass(me: string, alive: readonly string[], most: number, seen: readonly Seat[] = this.seats): boolean {
    const { take, give } = planMove(me, alive, seen, most)
    for (const { partition, epoch } of take) {
      const seat = this.seats[partition] as Seat
      if (seat.epoch === epoch && !alive.includes(seat.leader ?? '')) this.#set(partition, me)
    }
    for (const partition of give) if (this.seats[partition]?.leader === me) this.#set(partition, null)
    return take.length + give.length > 0
  }

  counts(alive: readonly string[]): number[] {
    return alive.map((node) => this.seats.filter(({ leader }) => leader === node).length)
  }

  #set(partition: number, leader: string | null): void {
    const { epoch } = this.seats[partition] as Seat
    this.seats[partition] = { partition, leader, epoch: epoch + 1 }
    if (leader !== null) this.moves++
  }
}

const anyTable = fc
  .record({
    alive: fc.subarray(nodeNames, { minLength: 1 }),
    leaders: fc.array(fc.option(fc.constantFrom(...nodeNames)), { minLength: 1, maxLength: 80 }),
    most: fc.integer({ min: 1, max: 8 }),
  })
  .map(({ alive, leaders, most }) => ({ alive, most, leaders, table: new Table(leaders) }))

/** Passes of all, one after the other, until nobody wants anything. */
function settle(table: Table, alive: readonly string[], most: number): void {
  for (let round = 0; ; round++) {
    const moved = alive.map((node) => table.pass(node, alive, most))
    if (!moved.includes(true)) return
    if (round > 200) throw new Error('it does not settle')
  }
}

describe('the spread of partitions', () => {
  it('settles in even shares, led by the living, with no more moves than must be', () => {
    fc.assert(
      fc.property(anyTable, ({ table, alive, leaders, most }) => {
        const before = table.counts(alive)
        settle(table, alive, most)
        const after = table.counts(alive)
        expect(after.reduce((sum, count) => sum + count, 0)).toBe(leaders.length)
        expect(Math.max(...after) - Math.min(...after)).toBeLessThanOrEqual(1)
        const needed = after.reduce((sum, count, at) => sum + Math.max(0, count - (before[at] ?? 0)), 0)
        expect(table.moves).toBe(needed)
      }),
    )
  })

  it('settles too when all look at once and then act', () => {
    fc.assert(
      fc.property(anyTable, ({ table, alive, most }) => {
        for (let round = 0; round < 200; round++) {
          const seen = [...table.seats]
          for (const node of alive) table.pass(node, alive, most, seen)
        }
        const after = table.counts(alive)
        expect(Math.max(...after) - Math.min(...after)).toBeLessThanOrEqual(1)
        expect(after.reduce((sum, count) => sum + count, 0)).toBe(table.seats.length)
      }),
    )
  })

  it('gives up no more than it may at a time, and takes what is free at once', () => {
    const table = new Table(Array.from({ length: 64 }, () => 'a'))
    expect(planMove('a', ['a', 'b'], table.seats, 4)).toMatchObject({ take: [], give: { length: 4 } })
    const free = new Table(Array.from({ length: 64 }, () => null))
    expect(planMove('b', ['a', 'b'], free.seats, 4).take).toHaveLength(32)
  })

  it('lets two nodes begin at different places, so that they seldom want the same', () => {
    const free = new Table(Array.from({ length: 64 }, () => null)).seats
    const [a, b] = ['a', 'b'].map((me) => new Set(planMove(me, ['a', 'b'], free, 4).take.map((seat) => seat.partition)))
    expect([...(a ?? [])].filter((partition) => b?.has(partition))).toEqual([])
  })

  it('is nothing to a node that is not among the living', () => {
    const free = new Table([null, null]).seats
    expect(planMove('z', ['a'], free, 4)).toEqual({ take: [], give: [] })
  })
})
