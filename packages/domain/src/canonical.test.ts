import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson, requestHash } from './canonical.js'

/** The same value with the keys of all its objects in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).reverse()
  return Object.fromEntries(members.map(([key, member]) => [key, reversed(member)]))
}

describe('canonicalJson', () => {
  it('sorts keys by code unit at every level and leaves arrays alone', () => {
    const text = canonicalJson({ b: [3, 1, { z: null, a: true }], a: 'x', B: 0, '\u{1F600}': 1, '\uFB33': 2 })
    expect(text).toBe('{"B":0,"a":"x","b":[3,1,{"a":true,"z":null}],"\u{1F600}":1,"\uFB33":2}')
  })

  it('means the same value and does not depend on the order of keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value))
        expect(JSON.parse(canonicalJson(parsed))).toEqual(parsed)
        expect(canonicalJson(reversed(parsed))).toBe(canonicalJson(parsed))
      }),
    )
  })

  it('takes __proto__ as data', () => {
    const text = '{"__proto__":{"x":1},"constructor":2}'
    expect(canonicalJson(JSON.parse(text))).toBe(text)
    expect(canonicalJson(JSON.parse(text))).not.toBe(canonicalJson(JSON.parse('{"constructor":2}')))
  })

  it('bears the deepest body that the edge lets in', () => {
    const deep = '['.repeat(100) + ']'.repeat(100)
    expect(canonicalJson(JSON.parse(deep))).toBe(deep)
  })

  it('writes numbers as JSON does', () => {
    expect(canonicalJson([1.0, -0, 1e21, 0.1, 1e-7])).toBe('[1,0,1e+21,0.1,1e-7]')
  })

  it('leaves out undefined properties and refuses what JSON cannot say', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}')
    const refused = [
      undefined,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1n,
      () => 1,
      Symbol('s'),
      new Date(0),
      [undefined],
    ]
    for (const value of refused) expect(() => canonicalJson(value)).toThrow(TypeError)
  })
})

describe('requestHash', () => {
  it('is the SHA-256 of the canonical text in UTF-8', () => {
    const expected = createHash('sha256').update('{"a":"é","b":1}', 'utf8').digest('hex')
    expect(requestHash({ b: 1, a: 'é' }).toString('hex')).toBe(expected)
  })

  it('differs with the value and its type', () => {
    const hashes = [1, '1', [1], { 1: 1 }, null, false, 0, ''].map((value) => requestHash(value).toString('hex'))
    expect(new Set(hashes).size).toBe(hashes.length)
  })
})
