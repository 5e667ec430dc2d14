import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { plainEnvironment } from '../testing/plain-environment.js'

const PROGRAM = fileURLToPath(new URL('../../bin/duly.js', import.meta.url))
const env = plainEnvironment()

/** Runs the program with an output that its reader closes before anything is written. */
async function runUnread(args: readonly string[]): Promise<{ readonly code: number | null; readonly err: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let err = ''
  child.stderr.on('data', (text) => {
    err += text
  })
  const [code] = await once(child, 'close')
  return { code, err }
}

it.each([[['--help']], [['task', 'submit', '--help']], [['config']]])(
  'an output that nobody reads ends %j as if it were read, without a word',
  async (args) => {
    expect(await runUnread(args)).toEqual({ code: 0, err: '' })
  },
)

it('an error that nobody reads leaves the exit code as it is', async () => {
  const child = spawn(process.execPath, [PROGRAM, 'nonsense'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.destroy()
  expect(await once(child, 'close')).toEqual([2, null])
})

it('a list without end stops when nobody reads it any more', async () => {
  const items = Array.from({ length: 500 }, (_, n) => ({ task_id: `task-${n}`, status: 'DEAD' }))
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ items, next_cursor: 'more' }))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const args = ['task', 'list', '--all', '--json', '--url', `http://127.0.0.1:${port}`]
  const child = spawn(process.execPath, [PROGRAM, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  await once(child.stdout, 'data')
  child.stdout.destroy()
  expect(await once(child, 'close')).toEqual([0, null])
})
