import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { openStore, startHttpNode } from '../../../server/src/dispatch/testing/http-node.js'
import { cli } from '../testing/captured-cli.js'

/** Numbers that JSON.stringify would write otherwise. */
const DIGITS = '"b":12345678901234567890,"c":-0,"d":1.0'

let at: readonly string[]
beforeAll(async () => {
  at = ['--url', (await startHttpNode((await openStore()).url)).url]
})

async function metadataOf(id: string): Promise<string> {
  const { out } = await cli(['task', 'get', id, '--json', ...at])
  return /"metadata":(\{[^}]*\})/.exec(out.replaceAll(/\s/g, ''))?.[1] ?? ''
}

async function submitted(...args: string[]): Promise<string> {
  const { code, out, err } = await cli(['task', 'submit', 'mail', '--delay', '1h', ...args, '--json', ...at])
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return metadataOf(JSON.parse(out).task_id)
}

it('is stored with the digits of the flag, and the flags of its members go before it', async () => {
  expect(await submitted('--metadata', `{${DIGITS}}`)).toBe(`{${DIGITS}}`)
  const flags = ['--metadata', `{"tenant_id":"x",${DIGITS}}`, '--tenant', 'acme', '--correlation-id', 'r"1']
  expect(await submitted(...flags)).toBe(`{${DIGITS},"tenant_id":"acme","correlation_id":"r\\"1"}`)
  expect(await submitted('--tenant', 'acme')).toBe('{"tenant_id":"acme"}')
})

it('is stored with the digits of a file', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'duly-metadata-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'tasks.jsonl')
  await writeFile(file, `{"task_type":"letter","metadata":{${DIGITS}}}\n{"task_type":"letter","metadata":null}\n`)
  expect((await cli(['task', 'submit', '--file', file, ...at])).code).toBe(0)
  const { out } = await cli(['task', 'list', '--task-type', 'letter', '--json', ...at])
  const ids = (JSON.parse(out).items as { task_id: string }[]).map(({ task_id }) => task_id)
  expect((await Promise.all(ids.map(metadataOf))).toSorted()).toEqual(['', `{${DIGITS}}`])
})
