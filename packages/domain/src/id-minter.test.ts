import { randomFillSync } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { IdMinter } from './id-minter.js'
import { maxTimestampMs, partitionOf, timestampMsOf } from './ids.js'

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function minter(options: { nowMs?: number; byte?: number; partitions?: number } = {}): IdMinter {
  const { nowMs = 1_775_300_000_123, byte, partitions = 64 } = options
  return new IdMinter({
    nowMs: () => nowMs,
    random: (bytes) => (byte === undefined ? randomFillSync(bytes) : bytes.fill(byte)),
    partitions,
  })
}

describe('IdMinter', () => {
  it('mints a UUIDv7 that carries instant and partition', () => {
    fc.assert(
      fc.property(fc.nat(maxTimestampMs), fc.nat(4_095), (nowMs, partition) => {
        const id = minter({ nowMs, partitions: 4_096 }).mint(partition)
        expect(id).toMatch(uuidV7)
        expect(partitionOf(id)).toBe(partition)
        expect(timestampMsOf(id)).toBe(nowMs)
      }),
    )
  })

  it('keeps version and variant whatever the random bits are', () => {
    expect(minter({ byte: 0xff }).mint(63)).toMatch(/-703f-bfff-ffffffffffff$/)
    expect(minter({ byte: 0 }).mint(63)).toMatch(/-703f-8000-000000000000$/)
  })

  it('drops fractions of a ms', () => {
    expect(timestampMsOf(minter({ nowMs: 1_000.9 }).mint(0))).toBe(1_000)
  })

  it('does not repeat itself over many pools of random bytes', () => {
    const one = minter()
    expect(new Set(Array.from({ length: 20_000 }, () => one.mint(1))).size).toBe(20_000)
  })

  it('draws partitions evenly when none is given', () => {
    const one = minter({ partitions: 10 })
    const counts = new Array<number>(10).fill(0)
    for (let n = 0; n < 20_000; n++) {
      const partition = partitionOf(one.mint())
      counts[partition] = (counts[partition] ?? 0) + 1
    }
    for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(300)
  })

  it('mints a batch in strictly increasing order within one ms and one partition', () => {
    for (const byte of [undefined, 0, 0xff]) {
      const ids = minter(byte === undefined ? {} : { byte }).mintMany(7, 10_000)
      expect(ids).toHaveLength(10_000)
      expect(ids.filter((id) => !uuidV7.test(id) || partitionOf(id) !== 7)).toEqual([])
      expect(ids.filter((id, index) => index > 0 && id <= (ids[index - 1] ?? ''))).toEqual([])
    }
  })

  it('makes different batches in the same ms', () => {
    const one = minter()
    expect(new Set([...one.mintMany(7, 5_000), ...one.mintMany(7, 5_000)]).size).toBe(10_000)
    expect(one.mintMany(7, 0)).toEqual([])
  })

  it('refuses partitions and times that an id cannot carry', () => {
    for (const partitions of [0, 4_097, 1.5]) expect(() => minter({ partitions })).toThrow(RangeError)
    for (const partition of [-1, 64, 0.5]) expect(() => minter().mint(partition)).toThrow(RangeError)
    for (const nowMs of [-1, maxTimestampMs + 1, Number.NaN])
      expect(() => minter({ nowMs }).mint(0)).toThrow(RangeError)
  })
})
