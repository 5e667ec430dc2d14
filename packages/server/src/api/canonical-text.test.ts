import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalText, hashRequest } from './canonical-text.js'

/** The same value with its keys the other way round and other white space. */
function respelled(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map(respelled).join(' ,\n')} ]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).reverse()
  return `{\t${members.map(([key, item]) => `${JSON.stringify(key)} : ${respelled(item)}`).join(' , ')} }`
}

describe('the canonical text', () => {
  it('is the same for every spelling of a document', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        expect(canonicalText(respelled(value))).toBe(canonicalText(JSON.stringify(value)))
      }),
    )
  })

  it('says the same as the document', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(canonicalText(text))).toEqual(JSON.parse(text))
      }),
    )
  })

  it('tells numbers apart that JSON.parse rounds to one', () => {
    expect(canonicalText('[9007199254740993]')).not.toBe(canonicalText('[9007199254740992]'))
    expect(canonicalText('[-0, 1e21]')).toBe('[-0,1e21]')
  })

  it('resolves escapes', () => {
    expect(canonicalText('{"\\u0062":1,"a":"\\u00e9\\/"}')).toBe('{"a":"é/","b":1}')
  })

  it('keeps __proto__ as a key', () => {
    expect(canonicalText('{"b":1,"__proto__":{"x":2}}')).toBe('{"__proto__":{"x":2},"b":1}')
  })
})

describe('the hash of a request', () => {
  it('leaves out the key of the document, and only there', () => {
    const plain = hashRequest('{"task_type":"a","payload":{"idempotency_key":1}}')
    expect(hashRequest('{"idempotency_key":"k","payload":{"idempotency_key":1},"task_type":"a"}')).toEqual(plain)
    expect(hashRequest('{"task_type":"a","payload":{}}')).not.toEqual(plain)
  })

  it('does not fill in defaults', () => {
    expect(hashRequest('{"task_type":"a","priority":"medium"}')).not.toEqual(hashRequest('{"task_type":"a"}'))
  })
})
