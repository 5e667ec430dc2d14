import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { planScan, scanJson } from './json-scan.js'
import { spelled } from './test-support/spelled.js'

describe('texts that are kept', () => {
  const plan = planScan([
    { path: 'payload', opaque: true },
    { path: 'metadata', opaque: false },
    { path: 'tasks[*]', opaque: false },
    { path: 'tasks[*].payload', opaque: true },
  ])

  it('keeps payloads byte for byte and takes them out of the skeleton', () => {
    const payload = '{ "id":9007199254740993, "z":-0,"e":1e21,\n"payload":[1.0] }'
    const text = `{"payload": ${payload} ,"metadata":{"a":1},"tasks":[{"payload":"x"},{},{"\\u0070ayload":[ 2 ],"t":1}]}`
    const { captures, fatal } = scanJson(text, plan)
    expect(fatal).toBeNull()
    expect(captures.text('payload')).toBe(payload)
    expect(captures.text('metadata')).toBe('{"a":1}')
    expect([0, 1, 2].map((item) => captures.text('tasks[*].payload', item))).toEqual(['"x"', undefined, '[ 2 ]'])
    expect(captures.text('tasks[*]', 2)).toBe('{"\\u0070ayload":[ 2 ],"t":1}')
    expect(JSON.parse(captures.skeleton())).toEqual({
      payload: null,
      metadata: { a: 1 },
      tasks: [{ payload: null }, {}, { payload: null, t: 1 }],
    })
  })

  it('gives the same text for any payload anywhere', () => {
    fc.assert(
      fc.property(fc.array(spelled, { maxLength: 5 }), spelled, (payloads, top) => {
        const items = payloads.map((payload, index) => `{"n":${index},"payload":${payload}}`)
        const { captures } = scanJson(`{"tasks":[${items.join()}],"payload":${top}}`, plan)
        expect(payloads.map((_, item) => captures.text('tasks[*].payload', item)?.trim())).toEqual(
          payloads.map((payload) => payload.trim()),
        )
        expect(captures.text('payload')).toBe(top)
        const tasks = payloads.map((_, index) => ({ n: index, payload: null }))
        expect(JSON.parse(captures.skeleton())).toEqual({ tasks, payload: null })
      }),
    )
  })

  it('does not take a key of the same name elsewhere', () => {
    const { captures } = scanJson('{"tasks":{"payload":1},"x":[{"payload":2}],"y":{"payload":3}}', plan)
    expect(captures.text('payload')).toBeUndefined()
    expect(captures.text('tasks[*].payload')).toBeUndefined()
  })

  it('stops at the 10,001st item of a list', () => {
    const list = (items: number) => `{"tasks":[${Array(items).fill('{}').join()}]}`
    expect(scanJson(list(10_000), plan).fatal).toBeNull()
    expect(scanJson(list(10_001), plan).fatal).toMatchObject({ path: 'tasks', limit: 'invalid_request' })
  })
})
