import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Leadership } from '../leadership.js'

/** A node of a deployment under test. Its own clock moves only when told. */
export interface Member {
  readonly id: string
  readonly leadership: Leadership
  /** Partitions that were said to be gained, in order. */
  readonly gained: number[]
  /** How often it said that partitions are free. */
  freed(): number
  /** Its own monotonic clock goes on. */
  pass(ms: number): Promise<void>
}

/** A deployment with an adapter of the port. */
export interface Deployment {
  readonly partitions: number
  join(): Promise<Member>
  /** Who leads each partition, and its epoch, as those who would refuse a stale leader know it. */
  seats(): Promise<readonly { readonly leader: string | null; readonly epoch: number }[]>
  /** Makes it true that the member was not heard of for so long, while all else went on. */
  silence(member: Member, ms: number): Promise<void>
  /** Makes it true that nobody could be heard for so long, and can be now. */
  outage(ms: number): Promise<void>
  close(): Promise<void>
}

/** A leader that was not heard of for so long is replaced; one that was heard of within half of it is not. */
const leaseMs = 6_000

/** What every adapter of the port must do. */
export function leadershipConformance(name: string, make: () => Promise<Deployment>): void {
  describe(`leadership by ${name}`, () => {
    let deployment: Deployment
    beforeAll(async () => {
      deployment = await make()
    })
    afterAll(() => deployment.close())

    const settle = async (...members: readonly Member[]): Promise<void> => {
      for (let round = 0; round < 20; round++) for (const { leadership } of members) await leadership.runOnce()
    }
    const counts = (...members: readonly Member[]): number[] => members.map(({ leadership }) => leadership.led().size)

    /** Each partition is led by one of them, and each knows the epoch that stands. */
    async function expectAgreed(...members: readonly Member[]): Promise<void> {
      const seats = await deployment.seats()
      for (const [partition, { leader, epoch }] of seats.entries()) {
        const leading = members.filter(({ leadership }) => leadership.led().has(partition))
        expect(leading.map(({ id }) => id)).toEqual([leader])
        expect(leading[0]?.leadership.led().get(partition)).toBe(epoch)
      }
    }

    /** As every test begins: two nodes, at rest. */
    async function pair(): Promise<[Member, Member]> {
      const members: [Member, Member] = [await deployment.join(), await deployment.join()]
      await settle(...members)
      return members
    }
    const leave = async (...members: readonly Member[]): Promise<void> => {
      for (const { leadership } of members) await leadership.resign()
    }

    it('gives a lone node everything at its first pass', async () => {
      const one = await deployment.join()
      await one.leadership.runOnce()
      expect(counts(one)).toEqual([deployment.partitions])
      expect(one.gained).toHaveLength(deployment.partitions)
      await expectAgreed(one)
      await leave(one)
    })

    it('spreads evenly and calmly when a node comes, and rests then', async () => {
      const one = await deployment.join()
      await settle(one)
      const two = await deployment.join()
      await two.leadership.runOnce()
      expect(counts(two)).toEqual([0])
      await one.leadership.runOnce()
      expect(counts(one)[0]).toBeGreaterThan(deployment.partitions / 2)
      expect(one.freed()).toBe(1)
      await settle(one, two)
      expect(counts(one, two)).toEqual([deployment.partitions / 2, deployment.partitions / 2])
      await expectAgreed(one, two)
      const before = await deployment.seats()
      await settle(one, two)
      expect(await deployment.seats()).toEqual(before)
      await leave(one, two)
    })

    it('replaces a node that died, with higher epochs, and not before its lease is over', async () => {
      const [one, two] = await pair()
      const before = await deployment.seats()
      await deployment.silence(two, leaseMs / 2)
      await settle(one)
      expect(await deployment.seats()).toEqual(before)
      await deployment.silence(two, leaseMs + 1_000)
      await settle(one)
      expect(counts(one)).toEqual([deployment.partitions])
      const after = await deployment.seats()
      for (const [partition, seat] of before.entries())
        expect((after[partition]?.epoch ?? 0) - seat.epoch).toBe(seat.leader === two.id ? 1 : 0)
      await leave(one)
    })

    it('is given up by a node that could not renew it in time, by its own clock, whatever stands elsewhere', async () => {
      const one = await deployment.join()
      await settle(one)
      await one.pass(leaseMs - 1)
      expect(counts(one)).toEqual([deployment.partitions])
      await one.pass(1)
      expect(counts(one)).toEqual([0])
      await one.leadership.runOnce()
      expect(counts(one)).toEqual([deployment.partitions])
      await leave(one)
    })

    it('tells a node that was replaced, at its next pass; then it has its share again', async () => {
      const [one, two] = await pair()
      await deployment.silence(two, leaseMs + 1_000)
      await settle(one)
      await two.leadership.runOnce()
      expect(counts(two)).toEqual([0])
      await settle(one, two)
      expect(counts(one, two)).toEqual([deployment.partitions / 2, deployment.partitions / 2])
      await expectAgreed(one, two)
      await leave(one, two)
    })

    it('passes on at the next pass when a node resigns', async () => {
      const [one, two] = await pair()
      await two.leadership.resign()
      expect(counts(two)).toEqual([0])
      expect(two.freed()).toBeGreaterThan(0)
      await one.leadership.runOnce()
      expect(counts(one)).toEqual([deployment.partitions])
      await two.leadership.runOnce()
      expect(counts(two)).toEqual([0])
      await leave(one)
    })

    it('outlives an outage: nobody is judged by time in which nobody could be heard', async () => {
      const [one, two] = await pair()
      const before = await deployment.seats()
      await deployment.outage(60_000)
      await one.leadership.runOnce()
      expect(await deployment.seats()).toEqual(before)
      await settle(one, two)
      expect(await deployment.seats()).toEqual(before)
      await leave(one, two)
    })

    it('gives each partition to one when many want it at once', async () => {
      const members = await Promise.all(Array.from({ length: 5 }, () => deployment.join()))
      for (let round = 0; round < 20; round++) await Promise.all(members.map(({ leadership }) => leadership.runOnce()))
      await expectAgreed(...members)
      const held = counts(...members)
      expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1)
      await leave(...members)
    })
  })
}
