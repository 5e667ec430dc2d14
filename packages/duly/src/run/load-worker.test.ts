import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plainEnvironment } from '../testing/plain-environment.js'

const PROGRAM = fileURLToPath(new URL('../../bin/duly.js', import.meta.url))

/** Files that hold no worker, and what is said of each; `$` is the folder. */
const FILES = [
  ['notes.md', '# Notes\n', /^duly: \$\/notes\.md is no JavaScript module$/],
  ['data.json', '{}', /^duly: \$\/data\.json is no JavaScript module$/],
  ['worker.ts', 'export const n: number = 1\n', /^duly: \$\/worker\.ts (?:is no JavaScript module|exports no worker)$/],
  [
    'syntax.mjs',
    'export default () => {\n  const x = ;\n}\n',
    /^duly: \$\/syntax\.mjs:2 is not valid JavaScript: Unexp/,
  ],
  [
    'above.mjs',
    'import "./syntax.mjs"\n',
    /^duly: \$\/above\.mjs, or a file that it imports, is not valid JavaScript: Unexp/,
  ],
  [
    'package.mjs',
    'import "no-such-package"\n',
    /^duly: \$\/package\.mjs could not be loaded: Cannot find package 'no-su/,
  ],
  ['name.mjs', 'import { x } from "./none.mjs"\n', /^duly: \$\/name\.mjs:1 is not valid JavaScript: .*named 'x'$/],
  ['none.mjs', 'export const y = 1\n', /^duly: \$\/none\.mjs exports no worker$/],
  [
    'idle.mjs',
    'export default { taskTypes: [], start() {}, stop() {} }\n',
    /^duly: the worker of \$\/idle\.mjs has no handler, so it has nothing to do$/,
  ],
] as const

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'duly-load-'))
  await mkdir(join(folder, 'folder'))
  for (const [name, text] of FILES) await writeFile(join(folder, name), text)
  await writeFile(join(folder, 'throws.mjs'), 'export default () => {\n  throw new Error("my fault")\n}\n')
  await writeFile(join(folder, 'parses.mjs'), 'JSON.parse("{")\n')
})
afterAll(() => rm(folder, { recursive: true }))

/** Runs it in a process: under a test runner Node's own loader is not what loads. */
async function load(name: string) {
  const child = spawn(process.execPath, [PROGRAM, 'worker', join(folder, name)], {
    env: plainEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: code as number, out, lines: err.replaceAll(folder, '$').trimEnd().split('\n') }
}

describe('a worker file that is none', () => {
  it.each(FILES)('is refused in a line: %s', async (name, _source, said) => {
    const { code, out, lines } = await load(name)
    expect(lines[0]).toMatch(said)
    expect(lines.length).toBeLessThanOrEqual(2)
    expect({ code, out }).toEqual({ code: 2, out: '' })
  })

  it('is refused as a folder too', async () => {
    expect((await load('folder')).lines[0]).toBe('duly: $/folder is no JavaScript module')
  })

  it('tells where its own code failed, and nothing of how it came to be loaded', async () => {
    const { code, lines } = await load('throws.mjs')
    expect(code).toBe(1)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toBe('duly: $/throws.mjs failed when it was loaded: Error: my fault')
    expect(lines[1]).toMatch(/\$\/throws\.mjs:2/)
    expect((await load('parses.mjs')).lines[0]).toMatch(/parses\.mjs failed when it was loaded: SyntaxError: /)
  })
})
