import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Part } from './keep-running.js'

const PROGRAM = fileURLToPath(new URL('../../bin/duly.js', import.meta.url))

/** The SDK gives back what still runs after its grace (25 s unless the worker says otherwise); then nothing is worth waiting for. */
const STOP_LIMIT_MS = 35_000

export interface WorkerProcess extends Part {
  readonly pid: number
  /** Ends it without a word. */
  kill(): void
}

/**
 * Starts `duly worker <file>` as a child. It is told to drain by closing the channel to it, which also happens by itself when we
 * die, so that it never outlives us; and no signal meant for us alone reaches it twice.
 */
export async function startWorkerProcess(
  file: string,
  options: { env: NodeJS.ProcessEnv; asJson: boolean },
): Promise<WorkerProcess> {
  const args = [PROGRAM, 'worker', file, ...(options.asJson ? ['--json'] : [])]
  const child = spawn(process.execPath, args, { env: options.env, stdio: ['ignore', 2, 2, 'ipc'] })
  await once(child, 'spawn')
  const exited = once(child, 'exit')
  const kill = () => void child.kill('SIGKILL')
  return {
    pid: child.pid as number,
    exited,
    kill,
    async stop() {
      if (child.connected) child.disconnect()
      const limit = new AbortController()
      const tooLong = delay(STOP_LIMIT_MS, undefined, { signal: limit.signal }).then(kill, () => {})
      await exited
      limit.abort()
      await tooLong
    },
  }
}
