import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../define-task.js'
import { type StandardSchema, type } from '../standard-schema.js'
import { clientOf } from '../testing/scripted-client.js'
import { rawJson, rawOf } from './raw-json.js'
import { batchItem } from './tasks.js'

/** Everything that JSON.parse and JSON.stringify change. */
const EXACT = '{"b":12345678901234567890,"a":[1e400,-0,1.0,1E2],"b":"\\u00e9 \\"x\\" \\\\"}'

describe('raw JSON', () => {
  it('is one JSON value', () => {
    expect(rawJson(` ${EXACT}\n`).text).toBe(EXACT)
    for (const text of ['', '{', '1 2', '{a:1}', '01', 'NaN']) expect(() => rawJson(text)).toThrow(SyntaxError)
    expect(() => JSON.stringify({ part: rawJson('1') })).toThrow('a whole payload')
  })

  it('gives the members of the outermost object, as they are written', () => {
    const text = '{ "a" : {"b":[1,{"c":"},"}]} ,"b":-0, "pay\\u006coad":\t1.0 ,"b":"x:\\"," ,"e":{}}'
    expect(
      rawJson(text)
        .members()
        .map(([key, { text: value }]) => [key, value]),
    ).toEqual([
      ['a', '{"b":[1,{"c":"},"}]}'],
      ['b', '-0'],
      ['payload', '1.0'],
      ['b', '"x:\\","'],
      ['e', '{}'],
    ])
    expect(rawJson(text).member('b')?.text).toBe('"x:\\","')
    expect(rawJson(text).member('c')).toBeUndefined()
    for (const none of ['{}', '[{"a":1}]', '"{}"', '1']) expect(rawJson(none).members()).toEqual([])
  })

  it('gives the elements of the outermost array, as they are written', () => {
    const texts = ['[1,[2]]', '-0', '"],["', '1.0', '{"a":[1,{}]}', '[]']
    expect(
      rawJson(`[ ${texts.join(' ,\n')} ]`)
        .elements()
        .map(({ text }) => text),
    ).toEqual(texts)
    for (const none of ['[ ]', '{"a":[1]}', '"[1]"', '1']) expect(rawJson(none).elements()).toEqual([])
  })

  it('agrees with JSON.parse and JSON.stringify where they change nothing', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as Record<string, unknown>
        const raw = rawJson(JSON.stringify(plain, null, 3))
        expect(raw.members().map(([key, member]) => [key, member.value])).toEqual(Object.entries(plain))
        const list = rawJson(JSON.stringify(Object.values(plain), null, 3))
        expect(list.elements().map((element) => element.value)).toEqual(Object.values(plain))
        expect(raw.format()).toBe(JSON.stringify(plain))
        expect(raw.format(2)).toBe(JSON.stringify(plain, null, 2))
      }),
    )
  })

  it('is laid out anew without changing a token', () => {
    expect(rawJson(' { "a" : [ 1.0 , -0 ] } ').format()).toBe('{"a":[1.0,-0]}')
    expect(rawJson('[1e400,[],{}]').format(2)).toBe('[\n  1e400,\n  [],\n  {}\n]')
  })
})

describe('on the wire', () => {
  const answering = (body: unknown) => clientOf(() => ({ body }))

  const receipt = { task_id: 'task-1', status: 'PENDING', replayed: false }

  it('a payload goes out as it was written, alone and in a batch', async () => {
    const { duly, server } = await answering({ ...receipt, tasks: [receipt, receipt] })
    await duly.submit('x', rawJson(EXACT), { priority: 'high' })
    expect(server.calls[0]?.text).toBe(`{"task_type":"x","payload":${EXACT},"priority":"high"}`)
    const task = defineTask('y', { payload: type<number>() })
    await duly.tasks.submitBatch([batchItem(task, rawJson('1.0')), { task: 'x', payload: [1] }])
    expect(server.calls[1]?.text).toBe('{"tasks":[{"task_type":"y","payload":1.0},{"task_type":"x","payload":[1]}]}')
  })

  it("is checked by its definition's schema like any other payload", async () => {
    const { duly, server } = await answering(receipt)
    const text: StandardSchema<string> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value) => (typeof value === 'string' ? { value } : { issues: [{ message: 'text!' }] }),
      },
    }
    const task = defineTask('x', { payload: text })
    await expect(duly.submit(task, rawJson('1.0'))).rejects.toMatchObject({ name: 'InvalidPayloadError' })
    await duly.submit(task, rawJson('"\\u0061"'))
    expect(server.calls.map((call) => call.text)).toEqual(['{"task_type":"x","payload":"\\u0061"}'])
  })

  it('of a record is there as the server wrote it', async () => {
    const text = `{"task_id":"task-1","status":"SUCCEEDED","payload":${EXACT},"result":1.0}`
    const { duly } = await answering(rawJson(text))
    const record = await duly.tasks.get('task-1')
    expect(record.result).toBe(1)
    expect(rawOf(record)?.text).toBe(text)
    expect(rawOf(record)?.member('payload')?.text).toBe(EXACT)
    expect(rawOf({ ...record })).toBeUndefined()
  })

  it('of a list is its items', async () => {
    const { duly } = await answering(rawJson('{"items":[{"attempt":1.0}],"next_cursor":null}'))
    expect(rawOf(await duly.tasks.attempts('task-1'))?.text).toBe('[{"attempt":1.0}]')
    expect(rawOf(await duly.tasks.events('task-1'))?.text).toBe('[{"attempt":1.0}]')
  })

  it('of a page is each of its items', async () => {
    const first = `{"task_id":"task-2","metadata":{"a":1e21,"b":12345678901234567890,"c":-0,"d":"],{"}}`
    const second = '{ "task_id": "task-1", "metadata": null }'
    const { duly } = await answering(rawJson(`{"items":[${first} , ${second}],"next_cursor":null}`))
    const { items } = await duly.tasks.list()
    expect(items.map((item) => rawOf(item)?.text)).toEqual([first, second])
    expect(rawOf((await duly.tasks.attempts('task-1'))[0] ?? {})?.text).toBe(first)
  })
})
