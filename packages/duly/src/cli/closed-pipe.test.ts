import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const PROGRAM = fileURLToPath(new URL('../../bin/duly.js', import.meta.url))

/** Runs the program with an output that its reader closes before anything is written. */
async function runUnread(args: readonly string[]): Promise<{ readonly code: number | null; readonly err: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
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
  const child = spawn(process.execPath, [PROGRAM, 'nonsense'], { stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.destroy()
  expect(await once(child, 'close')).toEqual([2, null])
})
