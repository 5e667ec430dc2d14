import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { plainEnvironment } from '../testing/plain-environment.js'
import { isScriptOfNpm } from './npm-parent.js'

const PROGRAM = fileURLToPath(new URL('../../bin/duly.js', import.meta.url))
/** A port on which nothing listens: it is reserved. */
const NOBODY = 'http://127.0.0.1:1'

const WORKER = `
import { Worker } from '@duly/sdk'
export default (duly) => new Worker(duly).handle('x', () => null)
`

async function packageWith(start: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'duly-npm-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const sdk = new URL('../../../sdk/dist/index.js', import.meta.url).href
  await writeFile(join(folder, 'worker.mjs'), WORKER.replace("'@duly/sdk'", JSON.stringify(sdk)))
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, scripts: { start } }))
  return folder
}

it('a worker under npm stops, in order, when npm is ended by a signal to its own pid', async () => {
  const cwd = await packageWith(`"${process.execPath}" "${PROGRAM}" worker worker.mjs --url ${NOBODY}`)
  const npm = spawn('npm', ['start'], { cwd, env: plainEnvironment(), stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(npm, 'close') // npm has ended, and everybody who could still write
  const lines: string[] = []
  const reader = createInterface({ input: npm.stderr })
  reader.on('line', (line) => {
    lines.push(line)
    if (line.includes('no answer from')) npm.kill('SIGTERM')
  })
  await closed
  expect(lines.filter((line) => line.startsWith('[worker]'))).toEqual([
    `[worker] worker.mjs works for ${NOBODY}`,
    expect.stringMatching(`no answer from ${NOBODY}: .*ECONNREFUSED.*; retrying`),
    expect.stringContaining('npm, which started this, has ended: stopping'),
    '[worker] stopped the worker',
  ])
})

it.each([
  [true, 'node scripts/start.mjs', 'sh -c node scripts/start.mjs --port 0'],
  [true, 'node scripts/start.mjs', 'npm start'],
  [true, "'duly'", "sh -c 'duly' worker 'my worker.mjs'"],
  [true, 'duly serve', 'npm run serve'],
  [false, 'duly serve & echo started', 'sh -c duly serve & echo started'],
  [false, 'node launcher.js', 'node /app/launcher.mjs'],
  [false, 'duly serve', '/sbin/init'],
  [false, 'duly serve', ''],
  [false, undefined, 'npm start'],
])('%s: the script %j of a parent %j is watched', (expected, script, parent) => {
  expect(isScriptOfNpm(script === undefined ? {} : { npm_lifecycle_script: script }, parent)).toBe(expected)
})
