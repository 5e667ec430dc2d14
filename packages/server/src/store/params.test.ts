import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDatabase } from '../../../../tests/support/database.js'
import * as params from './params.js'

let client: pg.Client
let drop: () => Promise<void>
beforeAll(async () => {
  const database = await createDatabase({ empty: true })
  drop = database.drop
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await drop()
})

interface Kind<T> {
  readonly write: (values: readonly (T | null)[]) => Buffer
  /** The element type, and how to read an element back as text without loss. */
  readonly type: string
  readonly read: (element: string) => string
  readonly back: (text: string) => T
  readonly edges: readonly T[]
  readonly any: fc.Arbitrary<T>
}

const kind = <T>(each: Kind<T>): Kind<unknown> => each as unknown as Kind<unknown>
const plain = (element: string) => `${element}::text`
const number = (write: Kind<number>['write'], type: string, bits: number) => {
  const [min, max] = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1]
  return kind<number>({
    write,
    type,
    read: plain,
    back: Number,
    edges: [0, 1, -1, min, max],
    any: fc.integer({ min, max }),
  })
}

const kinds: Record<string, Kind<unknown>> = {
  int2: number(params.int2Array, 'smallint', 16),
  int4: number(params.int4Array, 'integer', 32),
  int8: kind<number>({
    ...{ write: params.int8Array, type: 'bigint', read: plain, back: Number },
    edges: [0, -1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
    any: fc.maxSafeInteger(),
  }),
  bigint: kind<bigint>({
    ...{ write: params.bigintArray, type: 'bigint', read: plain, back: BigInt },
    edges: [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n],
    any: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  }),
  float4: kind<number>({
    ...{ write: params.float4Array, type: 'real', read: plain, back: (text) => Math.fround(Number(text)) },
    edges: [0, 0.5, -1.25, Math.fround(0.1), 3.4028234663852886e38],
    any: fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
  }),
  boolean: kind<boolean>({
    ...{ write: params.booleanArray, type: 'boolean', read: plain, back: (text) => text === 'true' },
    edges: [true, false],
    any: fc.boolean(),
  }),
  uuid: kind<string>({
    ...{ write: params.uuidArray, type: 'uuid', read: plain, back: String },
    edges: ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    any: fc.uuid(),
  }),
  instant: kind<number>({
    ...{ write: params.instantArray, type: 'timestamptz', back: Number },
    read: (element) => `(extract(epoch from ${element}) * 1000)::text`,
    edges: [0, 1, 946_684_800_000, 946_684_799_999, 253_402_300_799_999, Date.UTC(2026, 1, 28, 23, 59, 59, 999)],
    any: fc.integer({ min: 0, max: 253_402_300_799_999 }),
  }),
  text: kind<string>({
    ...{ write: params.textArray, type: 'text', read: plain, back: String },
    edges: ['', 'NULL', '{}', '"', '\\', 'ünï', '💥', '\u{10ffff}', '\u0001\u007f', ' ', 'x'.repeat(100_000)],
    any: fc.string({ unit: 'binary' }).filter((text) => !text.includes('\u0000')),
  }),
  bytea: kind<Buffer>({
    ...{ write: params.byteaArray, type: 'bytea', read: (element) => `encode(${element}, 'hex')` },
    back: (text) => Buffer.from(text, 'hex'),
    edges: [Buffer.alloc(0), Buffer.from([0]), Buffer.alloc(300, 255)],
    any: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  }),
}

async function roundTrip({ write, type, read, back }: Kind<unknown>, values: readonly unknown[]): Promise<unknown[]> {
  const { rows } = await client.query<{ text: string | null }>(
    `select ${read('v')} as text from unnest($1::${type}[]) with ordinality as u (v, place) order by place`,
    [write(values)],
  )
  return rows.map(({ text }) => (text === null ? null : back(text)))
}

describe.each(Object.keys(kinds))('arrays of %s', (name) => {
  const each = kinds[name] as Kind<unknown>

  test('come through PostgreSQL as they went in: edges, nulls, none at all', async () => {
    for (const values of [
      [],
      [null],
      [null, null],
      each.edges,
      [null, ...each.edges, null],
      each.edges.flatMap((v) => [v, null]),
    ]) {
      expect(await roundTrip(each, values)).toEqual(values)
    }
  })

  test('come through whatever they hold', async () => {
    const values = fc.array(fc.option(each.any, { nil: null }), { maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(values, async (array) => {
        expect(await roundTrip(each, array)).toEqual(array)
      }),
      { numRuns: 25 },
    )
  })

  test('have one dimension that begins at 1', async () => {
    const { rows } = await client.query(
      `select array_ndims(a) as dims, array_lower(a, 1) as lower, cardinality(a) as n from (select $1::${each.type}[]) x (a)`,
      [each.write(each.edges)],
    )
    expect(rows[0]).toEqual({ dims: 1, lower: 1, n: each.edges.length })
  })
})

test('what does not fit is refused, not cut', () => {
  expect(() => params.int2Array([40_000])).toThrow(RangeError)
  expect(() => params.int4Array([2 ** 31])).toThrow(RangeError)
  expect(() => params.int8Array([Number.NaN])).toThrow(RangeError)
  expect(() => params.bigintArray([2n ** 63n])).toThrow(RangeError)
  expect(() => params.instantArray([Number.POSITIVE_INFINITY])).toThrow(RangeError)
  expect(() => params.uuidArray(['no uuid'])).toThrow(RangeError)
})
