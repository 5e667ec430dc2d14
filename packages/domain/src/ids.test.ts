import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DulyError } from './errors.js'
import {
  dayOf,
  decodeId,
  encodeId,
  firstUuidAt,
  idPrefixes,
  maxTimestampMs,
  partitionOf,
  partitionOfKey,
  timestampMsOf,
} from './ids.js'
import { uuidFromBytes, uuidToBytes } from './uuid.js'

const uuids = fc.uuid()
const sample = '0195d8a2-7c3f-703f-8b1e-5d2c4a6f8e90'

function refusal(prefix: 'task' | 'cron', text: string): string {
  try {
    decodeId(prefix, text)
  } catch (error) {
    if (error instanceof DulyError && error.code === 'invalid_id') return error.message
    throw error
  }
  throw new Error(`taken: ${text}`)
}

describe('encodeId and decodeId', () => {
  it('write the number in base 32, most significant digit first', () => {
    const bits = (text: string) => BigInt(`0x${text.replaceAll('-', '')}`)
    const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
    fc.assert(
      fc.property(uuids, (uuid) => {
        const digits = encodeId('task', uuid).slice('task-'.length)
        expect(digits).toHaveLength(26)
        let value = 0n
        for (const digit of digits) value = value * 32n + BigInt(alphabet.indexOf(digit))
        expect(value).toBe(bits(uuid))
      }),
    )
  })

  it('are each other’s inverse for every prefix', () => {
    fc.assert(
      fc.property(uuids, fc.constantFrom(...idPrefixes), (uuid, prefix) => {
        expect(decodeId(prefix, encodeId(prefix, uuid))).toBe(uuid)
      }),
    )
  })

  it('keep order', () => {
    fc.assert(
      fc.property(uuids, uuids, (a, b) => {
        expect(encodeId('wf', a) < encodeId('wf', b)).toBe(a < b)
      }),
    )
  })

  it('reach both ends of the range', () => {
    const ends = ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']
    expect(ends.map((uuid) => encodeId('key', uuid))).toEqual([`key-${'0'.repeat(26)}`, `key-7${'z'.repeat(25)}`])
    for (const uuid of ends) expect(decodeId('key', encodeId('key', uuid))).toBe(uuid)
  })

  it('say clearly why an id is refused', () => {
    const good = encodeId('task', sample)
    expect(refusal('cron', good)).toMatch(/is not a cron id: it is a task id$/)
    expect(refusal('task', '42')).toMatch(/does not begin with "task-"/)
    expect(refusal('task', sample)).toMatch(/does not begin with "task-"/)
    expect(refusal('task', good.slice(0, -1))).toMatch(/25 characters after "task-" in place of 26/)
    expect(refusal('task', `${good}0`)).toMatch(/27 characters/)
    expect(refusal('task', `task-8${'0'.repeat(25)}`)).toMatch(/larger than 128 bits/)
    expect(refusal('task', `${good.slice(0, -1)}u`)).toMatch(/"u" is not a character of an id$/)
    expect(refusal('task', `${good.slice(0, -1)}B`)).toMatch(/"B" is not a character of an id; ids are lower-case$/)
    expect(refusal('task', `${good.slice(0, -2)}😀`)).toMatch(/"😀" is not a character/)
    expect(refusal('task', 'x'.repeat(10_000)).length).toBeLessThan(200)
  })

  it('give one thing one name: look-alikes and other cases are refused', () => {
    const zeros = `task-${'0'.repeat(26)}`
    for (const other of ['o', 'O', 'i', 'l', 'L']) {
      expect(() => decodeId('task', zeros.slice(0, -1) + other)).toThrow(DulyError)
    }
    expect(() => decodeId('task', encodeId('task', sample).toUpperCase())).toThrow(DulyError)
  })

  it('take nothing that they would write differently', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 26, maxLength: 26 }), (tail) => {
        try {
          expect(encodeId('task', decodeId('task', `task-${tail}`))).toBe(`task-${tail}`)
        } catch (error) {
          expect(error).toBeInstanceOf(DulyError)
        }
      }),
    )
  })

  it('treat a broken UUID inside the program as a fault', () => {
    for (const broken of ['', sample.slice(1), sample.toUpperCase(), `${sample.slice(0, -1)}é`]) {
      expect(() => encodeId('task', broken)).toThrow(RangeError)
      expect(() => uuidToBytes(broken, Buffer.alloc(16), 0)).toThrow(RangeError)
    }
  })
})

describe('the parts of an id', () => {
  it('are its partition, its instant and its day', () => {
    expect(partitionOf(sample)).toBe(0x03f)
    expect(timestampMsOf(sample)).toBe(0x0195d8a27c3f)
    expect(dayOf(sample)).toBe(new Date(0x0195d8a27c3f).toISOString().slice(0, 10))
  })

  it('stand in sixteen bytes at any offset', () => {
    fc.assert(
      fc.property(uuids, fc.nat(20), (uuid, offset) => {
        const target = Buffer.alloc(offset + 18, 0xaa)
        uuidToBytes(uuid, target, offset)
        expect(target.toString('hex', offset, offset + 16)).toBe(uuid.replaceAll('-', ''))
        expect(target.subarray(offset + 16)).toEqual(Buffer.from([0xaa, 0xaa]))
        expect(uuidFromBytes(target, offset)).toBe(uuid)
      }),
    )
  })
})

describe('firstUuidAt', () => {
  it('bounds every id of its ms from below and every earlier one from above', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: maxTimestampMs }), uuids, (ms, tail) => {
        const first = firstUuidAt(ms)
        expect(timestampMsOf(first)).toBe(ms)
        const sameMs = first.slice(0, 14) + tail.slice(14)
        const earlier = firstUuidAt(ms - 1).slice(0, 14) + tail.slice(14)
        expect(first <= sameMs).toBe(true)
        expect(earlier < first).toBe(true)
      }),
    )
  })

  it('refuses what is no timestamp', () => {
    for (const ms of [-1, 0.5, Number.NaN, maxTimestampMs + 1]) expect(() => firstUuidAt(ms)).toThrow(RangeError)
  })
})

describe('partitionOfKey', () => {
  it('never changes: stored keys are found by it', () => {
    expect(partitionOfKey('default', 'welcome-user-123', 64)).toBe(27)
    expect(partitionOfKey('acme-corp', 'order/2026-04-04', 64)).toBe(4)
    expect(partitionOfKey('größe', '键', 4_096)).toBe(3_632)
  })

  it('tells apart where tenant and key meet', () => {
    expect(partitionOfKey('a', 'b:c', 4_096)).not.toBe(partitionOfKey('a:b', 'c', 4_096))
    expect(partitionOfKey('', 'ab', 4_096)).not.toBe(partitionOfKey('ab', '', 4_096))
  })

  it('spreads evenly, also over keys that differ by a counter', () => {
    for (const partitions of [64, 100]) {
      const counts = new Array<number>(partitions).fill(0)
      for (let n = 0; n < 64_000; n++) {
        const partition = partitionOfKey('default', `order-${n}`, partitions)
        counts[partition] = (counts[partition] ?? 0) + 1
      }
      const expected = 64_000 / partitions
      for (const count of counts) expect(Math.abs(count - expected)).toBeLessThan(6 * Math.sqrt(expected))
    }
  })
})
