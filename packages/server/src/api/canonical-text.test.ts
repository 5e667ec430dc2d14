import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalText as canonicalBytes, hashRequest } from './canonical-text.js'

const canonicalText = (text: string): string => canonicalBytes(text).toString()

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

  it('puts members in the order of their keys on every level, also by the hundred', () => {
    const keys = Array.from({ length: 300 }, (_, n) => `k${(n * 7) % 300}`)
    const object = (value: string) => `{${keys.map((key) => `"${key}": ${value}`).join(', ')}}`
    const sorted = (value: string) =>
      `{${[...keys]
        .sort()
        .map((key) => `"${key}":${value}`)
        .join(',')}}`
    expect(canonicalText(`[${object(object('[1, {"b": 2, "a": 1}]'))}]`)).toBe(
      `[${sorted(sorted('[1,{"a":1,"b":2}]'))}]`,
    )
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

  it.each([
    '{"idempotency_key":"k","task_type":"a","payload":[1]}',
    '{"task_type":"a","idempotency_key":"k","payload":[1]}',
    '{ "payload" : [ 1 ] , "task_type":"a" , "\\u0069dempotency_key":"\\u006b" }',
  ])('leaves it out wherever it stands and however it is spelled: %s', (text) => {
    expect(hashRequest(text)).toEqual(hashRequest('{"payload":[1],"task_type":"a"}'))
  })

  it('stays what it is: keys that are stored must find their request again', () => {
    const text = '{"payload":{"z":[1.0,-0,"é\\n"],"a":{}},"task_type":"mail","idempotency_key":"k"}'
    const canonical = '{"payload":{"a":{},"z":[1.0,-0,"é\\n"]},"task_type":"mail"}'
    expect(hashRequest(text)).toEqual(createHash('sha256').update(canonical).digest())
  })

  it('does not fill in defaults', () => {
    expect(hashRequest('{"task_type":"a","priority":"medium"}')).not.toEqual(hashRequest('{"task_type":"a"}'))
  })
})
