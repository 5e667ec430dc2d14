import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A Duly for one test file: on a free port, with an empty database of its own and no worker but yours. */
export async function startDuly() {
  const dataDir = join(tmpdir(), `duly-test-${randomUUID()}`)
  const options = ['--port', '0', '--data-dir', dataDir, '--no-worker', '--json']
  const child = spawn('node_modules/.bin/duly', ['dev', ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  const ready = once(createInterface({ input: child.stdout }), 'line') // one line of JSON when all runs
  const [line] = await Promise.race([ready, ended.then(([code]) => assertStarted(code))])
  return {
    url: JSON.parse(line).url,
    async stop() {
      child.kill('SIGTERM')
      await ended
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function assertStarted(code) {
  throw new Error(`duly dev ended with ${code}; what it said stands above`)
}
