import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../packages/duly/src/postgres/index.js'
import type { Settings } from '../../packages/duly/src/postgres/settings.js'
import { cleanUpLater } from './clean-up.js'
import { freePort } from './ports.js'

/** A PostgreSQL of one test's own, to be stopped, killed and started again on the same port. */
export interface OwnPostgres {
  readonly url: string
  readonly port: number
  /** `immediate` is a crash: nothing is flushed, the next start recovers from the WAL. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  /** Stops all its processes in mid-step: connections stay open, and nothing answers. */
  freeze(): void
  thaw(): void
}

/** Starts one in a temporary folder, or in an empty one that is given; gone when the test file is done. */
export async function startOwnPostgres(options: { settings?: Settings; dataDir?: string } = {}): Promise<OwnPostgres> {
  const { settings = {} } = options
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'duly-own-postgres-')))
  const port = await freePort()
  let server = await startPostgres({ dataDir, port, settings })
  cleanUpLater(async () => {
    signalAll(server.pid, 'SIGCONT')
    await server.stop('immediate')
    await rm(dataDir, { recursive: true, force: true })
  })
  return {
    url: server.url,
    port,
    stop: (mode = 'fast') => server.stop(mode),
    start: async () => {
      server = await startPostgres({ dataDir, port, settings })
    },
    freeze: () => signalAll(server.pid, 'SIGSTOP'),
    thaw: () => signalAll(server.pid, 'SIGCONT'),
  }
}

/**
 * To the server's process and to its children, which are in process groups of their own. They are looked for when it stands still: it
 * makes no more of them then.
 */
function signalAll(postmaster: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  send(postmaster, signal)
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === postmaster)
  for (const pid of children) send(Number(pid), signal)
}

function send(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // it has just ended
  }
}

function parentOf(pid: string): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return 0
  }
}
