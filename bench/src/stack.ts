import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from 'duly'
import { Database } from './database.js'
import type { Options } from './options.js'
import { queue } from './payload.js'
import type { ProducerCalls } from './producer.js'
import { Remote } from './remote.js'
import { Server } from './server.js'
import type { WorkerCalls } from './worker.js'

/** Everything that one run measures, each part in a process of its own, on a new database. */
export interface Stack {
  readonly database: Database
  /** The nodes; the first one stands for all where one is looked at. */
  readonly servers: readonly [Server, ...Server[]]
  readonly worker: Remote<WorkerCalls>
  readonly producer: Remote<ProducerCalls>
  readonly postgresPid: number
  readonly databaseUrl: string
  /** Starts the worker on the benchmark's queue. */
  startWorker(): Promise<void>
  stop(): Promise<void>
}

export interface StackSettings {
  /** 1 if absent. */
  readonly nodes?: number
  /** Whether the nodes can be asked how long their event loops stood still. */
  readonly watchesLoop?: boolean
}

/** @param profiles folder for CPU profiles of server and worker; null: none are taken */
export async function startStack(
  options: Options,
  profiles: string | null,
  { nodes = 1, watchesLoop = false }: StackSettings = {},
): Promise<Stack> {
  const undo: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const folder = mkdtempSync(join(tmpdir(), 'duly-bench-'))
    chmodSync(folder, 0o755) // PostgreSQL's user looks in
    undo.push(async () => rmSync(folder, { recursive: true, force: true }))
    const postgres = await startPostgres({ dataDir: join(folder, 'postgres') })
    undo.push(() => postgres.stop())
    const startServer = async () => {
      const nodeArguments = profiler(profiles, 'server')
      const server = await Server.start({ databaseUrl: postgres.url, folder, nodeArguments, watchesLoop })
      undo.push(() => server.stop())
      return server
    }
    const servers: [Server, ...Server[]] = [await startServer()]
    while (servers.length < nodes) servers.push(await startServer())
    const urls = servers.map(({ url }) => url)
    const database = await Database.open(postgres.url)
    undo.push(() => database.close())
    const worker = Remote.start<WorkerCalls>('worker', profiler(profiles, 'worker'))
    undo.push(() => worker.end())
    const producer = Remote.start<ProducerCalls>('producer')
    undo.push(() => producer.end())
    const { payloadBytes, seed } = options
    await producer.call('prepare', { urls, payloadBytes, seed })
    const startWorker = async () => {
      await worker.call('start', { urls, queue, slots: options.slots })
    }
    return {
      database,
      servers,
      worker,
      producer,
      postgresPid: postgres.pid,
      databaseUrl: postgres.url,
      startWorker,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

function profiler(folder: string | null, name: string): string[] {
  if (folder === null) return []
  mkdirSync(join(folder, name), { recursive: true })
  return ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${join(folder, name)}`]
}
