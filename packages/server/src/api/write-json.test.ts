import fc from 'fast-check'
import { expect, it } from 'vitest'
import { RawJson, type Writable, writeJson } from './write-json.js'

it('writes what JSON.stringify writes', () => {
  const value = fc.letrec<{ value: Writable }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(fc.constantFrom('a', 'task_id', 'x9'), tie('value')),
    ) as fc.Arbitrary<Writable>,
  })).value
  fc.assert(fc.property(value, (written) => writeJson(written) === JSON.stringify(written)))
})

it('embeds raw texts as they are and leaves out what is undefined', () => {
  expect(writeJson({ a: new RawJson('{ "n": 1e21 }'), b: undefined, c: [new RawJson('-0')] })).toBe(
    '{"a":{ "n": 1e21 },"c":[-0]}',
  )
})
