import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rawJson } from '@duly/sdk'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readJson } from './json-input.js'
import { parseSeconds } from './seconds.js'
import { taskFields, toBatchItem } from './task-fields.js'
import { inBatches, parseTaskFile } from './task-file.js'
import type { Terminal } from './terminal.js'

const terminal: Terminal = {
  out: () => {},
  err: () => {},
  isInteractive: false,
  width: 80,
  hasColours: false,
  height: null,
  isPlain: false,
  env: {},
  readStdin: async () => '{"from":"stdin"}',
  isTaken: async () => true,
}

describe('durations', () => {
  it.each([
    ['90', 90],
    ['1.5', 1.5],
    ['500ms', 0.5],
    ['30s', 30],
    ['5m', 300],
    ['24h', 86_400],
    ['7d', 604_800],
  ])('%s is %d s', (text, seconds) => {
    expect(parseSeconds(text, '--wait')).toBe(seconds)
  })

  it.each(['', 's', '-1', '1 h', '5min', '1e3', 'soon'])('%j is none', (text) => {
    expect(() => parseSeconds(text, '--wait')).toThrow(/^--wait: .* is not a duration$/)
  })
})

describe('JSON arguments', () => {
  it('come as text, from a file or from standard input', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'duly-cli-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'mail.json'), '{"from":"file"}')
    expect((await readJson('--payload', '{"n":1.0}', terminal)).text).toBe('{"n":1.0}')
    expect((await readJson('--payload', `@${folder}/mail.json`, terminal)).text).toBe('{"from":"file"}')
    expect((await readJson('--payload', '-', terminal)).text).toBe('{"from":"stdin"}')
  })

  it('name the option and the way to write it when they are wrong', async () => {
    await expect(readJson('--payload', '{to: x}', terminal)).rejects.toMatchObject({
      exit: 'usage',
      message: expect.stringContaining('--payload is not JSON'),
      remedy: expect.stringContaining('Quote it for the shell'),
    })
    const folder = await mkdtemp(join(tmpdir(), 'duly-cli-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, 'broken.json'), '{')
    await expect(readJson('the workflow', `@${folder}/broken.json`, terminal)).rejects.toMatchObject({
      message: expect.stringContaining(`the workflow: the file ${folder}/broken.json is not JSON`),
      remedy: undefined,
    })
    await expect(readJson('--payload', '@/no/such', terminal)).rejects.toThrow('the file /no/such does not exist')
  })
})

it('a file in another encoding than UTF-8 is refused, and a byte order mark is no part of it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'duly-cli-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'latin1'), Buffer.from('"caf\xe9"', 'latin1'))
  await expect(readJson('--payload', `@${folder}/latin1`, terminal)).rejects.toMatchObject({
    exit: 'usage',
    message: `--payload: the file ${folder}/latin1 is not UTF-8 text`,
  })
  await writeFile(join(folder, 'marked.json'), '\ufeff"café"')
  expect((await readJson('--payload', `@${folder}/marked.json`, terminal)).text).toBe('"café"')
})

describe('a file of tasks', () => {
  it('has one task a line, blank lines allowed', () => {
    const text = '{"task_type":"a"}\n\n{"payload":[1.0, -0],"task_type":"b"}\r\n'
    expect(parseTaskFile('t.jsonl', text)).toEqual([
      { task_type: 'a' },
      { task_type: 'b', payload: rawJson('[1.0, -0]') },
    ])
  })

  it("may hold each key of a task once; what a payload holds is the server's to judge", () => {
    const parse = (line: string) => parseTaskFile('t.jsonl', line)
    expect(() => parse('{"task_type":"a","payload":1,"pay\\u006coad":2}')).toThrow(
      't.jsonl:1: key "payload" more than once',
    )
    expect(parse('{"task_type":"a","payload":{"b":1,"b":2}}')[0]?.payload).toEqual(rawJson('{"b":1,"b":2}'))
  })

  it('keeps metadata as it is written, and leaves a wrong one to the server', () => {
    const metadata = (text: string) => parseTaskFile('t.jsonl', `{"task_type":"a","metadata":${text}}`)[0]?.metadata
    expect(metadata('{"n":1.0,"m":12345678901234567890}')).toEqual(rawJson('{"n":1.0,"m":12345678901234567890}'))
    expect([metadata('[1]'), metadata('null')]).toEqual([[1], null])
  })

  it('is refused as a whole, with each wrong line named', () => {
    const text =
      '{"task_type":"a"}\nnot json\n[]\n{"payload":1}\n{"task_type":"a","retries":3,"delay_seconds":"5s"}\n{"task_type":5}'
    const parse = () => parseTaskFile('t.jsonl', text)
    expect(parse).toThrow(/t\.jsonl:2: not JSON/)
    expect(parse).toThrow('t.jsonl:3: not an object\nt.jsonl:4: has no "task_type"')
    expect(parse).toThrow('t.jsonl:5: unknown key "retries", "delay_seconds" must be a number of seconds')
    expect(parse).toThrow('t.jsonl:6: "task_type" must be a string')
    expect(() => parseTaskFile('t.jsonl', '\n')).toThrow('holds no tasks')
    expect(() => parseTaskFile('t.jsonl', 'x\n'.repeat(25))).toThrow('… and 15 more')
  })

  it('is cut into batches that lose nothing', () => {
    const items = Array.from({ length: 1_201 }, (_, index) => index)
    const batches = inBatches(items, 500)
    expect(batches.map((batch) => batch.length)).toEqual([500, 500, 201])
    expect(batches.flat()).toEqual(items)
    expect(inBatches([], 500)).toEqual([])
  })
})

describe('the fields of a task', () => {
  it('go to the SDK under its names, durations in ms', () => {
    const task = {
      task_type: 'send_email',
      payload: { to: 'a@example.com' },
      priority: 'high',
      delay_seconds: 1.5,
      max_retries: 2,
      retry_delay_seconds: 10,
      timeout_seconds: 30,
      tags: ['a'],
      metadata: { tenant_id: 'acme' },
      scheduled_at: null,
    }
    expect(toBatchItem(task)).toEqual({
      task: 'send_email',
      payload: { to: 'a@example.com' },
      options: {
        priority: 'high',
        delay: 1_500,
        timeout: 30_000,
        tags: ['a'],
        metadata: { tenant_id: 'acme' },
        retry: { limit: 2, delay: 10_000 },
      },
    })
    expect(() => toBatchItem({ task_type: 'a', prio: 'high' })).toThrow('unknown key "prio"')
  })

  it('have one flag each, without the unit', () => {
    const flags = taskFields.map(({ flag }) => flag)
    expect(new Set(flags).size).toBe(flags.length)
    expect(flags).toEqual(
      expect.arrayContaining(['--delay', '--max-retries', '--retry-max-delay', '--idempotency-key']),
    )
  })
})
