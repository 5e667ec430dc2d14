import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../packages/duly/src/postgres/index.js'
import { cleanUpLater } from './clean-up.js'
import { freePort } from './ports.js'

/** A PostgreSQL of one test's own, to be stopped, killed and started again on the same port. */
export interface OwnPostgres {
  readonly url: string
  readonly port: number
  /** `immediate` is a crash: nothing is flushed, the next start recovers from the WAL. */
  stop(mode?: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
}

/** Starts one in a temporary folder; gone when the test file is done. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'duly-own-postgres-'))
  const port = await freePort()
  let server = await startPostgres({ dataDir, port })
  cleanUpLater(async () => {
    await server.stop('immediate')
    await rm(dataDir, { recursive: true, force: true })
  })
  return {
    url: server.url,
    port,
    stop: (mode = 'fast') => server.stop(mode),
    start: async () => {
      server = await startPostgres({ dataDir, port })
    },
  }
}
