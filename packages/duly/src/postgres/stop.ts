import { setTimeout as delay } from 'node:timers/promises'
import { type Binaries, program } from './binaries.js'
import { isAlive } from './postmaster-file.js'
import { type Command, runToEnd } from './run-as.js'

/** `fast` ends all sessions and writes a checkpoint; `immediate` ends at once, and the next start recovers from the log. */
export type StopMode = 'fast' | 'immediate'

/** Signals in order of force, with how long each may take. A clean stop was measured at 12–26 ms. */
const STEPS: readonly { readonly signal: NodeJS.Signals; readonly waitMs: number }[] = [
  { signal: 'SIGINT', waitMs: 10_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
]

/** Stops a server by its pid, with more force if it doesn't obey. Resolves when it is gone. */
export async function stopServer(pid: number, mode: StopMode, log: (line: string) => void): Promise<void> {
  const steps = mode === 'fast' ? STEPS : STEPS.slice(1)
  for (const [index, step] of steps.entries()) {
    if (index > 0) log(`PostgreSQL (pid ${pid}) is still there: ${step.signal}`)
    if (!signal(pid, step.signal)) return
    if (await isGoneWithin(pid, step.waitMs)) return
  }
  log(`PostgreSQL (pid ${pid}) could not be stopped`)
}

/** Windows has no such signals: pg_ctl does it there. */
export async function stopByControl(binaries: Binaries, cluster: string, mode: StopMode): Promise<void> {
  const command: Command = {
    file: program(binaries, 'pg_ctl'),
    args: ['stop', '-D', cluster, '-m', mode, '-w'],
    options: {},
  }
  await runToEnd(command)
}

function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name)
  } catch {
    return false
  }
}

async function isGoneWithin(pid: number, limitMs: number): Promise<boolean> {
  const until = performance.now() + limitMs
  while (performance.now() < until) {
    if (!(await isAlive(pid))) return true
    await delay(10)
  }
  return !(await isAlive(pid))
}
