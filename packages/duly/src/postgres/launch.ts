import { type ChildProcess, spawn } from 'node:child_process'
import { open, readFile, rename, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { program } from './binaries.js'
import { type ClusterPlace, clusterFolder } from './cluster.js'
import { EmbeddedPostgresError, explainOutput, explainSystemError } from './errors.js'
import { isClusterInUse, readPostmasterFile } from './postmaster-file.js'
import { probe } from './probe.js'
import { asServer } from './run-as.js'
import { type Settings, settingArguments } from './settings.js'

/** A server that accepts connections. `child` is absent when another process started it. */
export interface RunningServer {
  readonly pid: number
  readonly port: number
  readonly child?: ChildProcess
}

export interface LaunchOptions extends ClusterPlace {
  /** 0: any free port. */
  readonly port: number
  readonly settings: Settings
  readonly log: (line: string) => void
}

/** What stands in the way of a start: a server that is starting or ending, or children of a killed one. Passes by itself. */
const OCCUPIED = /lock file "postmaster\.pid" already exists|pre-existing shared memory block/
const PORT_TAKEN = /could not bind|could not create any TCP\/IP sockets/
const LOG_LIMIT_BYTES = 16 * 1024 * 1024
/** A killed server's remains go within a second or two; longer than this means that something else holds the folder. */
const OCCUPIED_LIMIT_MS = 15_000
const RETRY_MS = 100

/** The server's own log, written by it directly, so that it never depends on our being alive to read a pipe. */
export function logFile(dataDir: string): string {
  return join(dataDir, 'postgres.log')
}

/**
 * Gives a server for the cluster: the one that runs on it already, or a new one. Waits out what passes by itself.
 * @throws EmbeddedPostgresError with PostgreSQL's own last lines when it can't start
 */
export async function attachOrLaunch(options: LaunchOptions): Promise<RunningServer> {
  const giveUpAt = performance.now() + OCCUPIED_LIMIT_MS
  while (performance.now() < giveUpAt) {
    const found = await findRunning(clusterFolder(options.dataDir))
    if (found !== 'none' && found !== 'busy') return found
    const launched = found === 'none' ? await launchOnce(options) : undefined
    if (launched) return launched
    await delay(RETRY_MS)
  }
  const file = await readPostmasterFile(clusterFolder(options.dataDir))
  const holder = file ? `process ${file.pid} (port ${file.port})` : 'another process'
  throw new EmbeddedPostgresError(
    `The data in ${options.dataDir} is in use by ${holder}, which answers no connections: stop it, then start again.`,
  )
}

/** Looks for a server on the cluster: `busy` if something of it still lives or is not ready yet. Clears a pid file that is provably stale. */
async function findRunning(cluster: string): Promise<RunningServer | 'none' | 'busy'> {
  const file = await readPostmasterFile(cluster)
  if (!file) return 'none'
  if (!(await isClusterInUse(cluster, file.pid))) {
    // Its number may belong to a stranger by now, which PostgreSQL would take for a living server.
    await rm(join(cluster, 'postmaster.pid'), { force: true })
    return 'none'
  }
  const readiness = file.dataDir === cluster ? await probe(file.port) : 'silent'
  return readiness === 'ready' ? { pid: file.pid, port: file.port } : 'busy'
}

async function launchOnce(options: LaunchOptions): Promise<RunningServer | undefined> {
  const port = options.port || (await freePort())
  const path = logFile(options.dataDir)
  const log = await openLog(path)
  const args = ['-D', clusterFolder(options.dataDir), '-p', String(port), ...settingArguments(options.settings)]
  const command = asServer(options.launcher, program(options.binaries, 'postgres'), args)
  const child = spawn(command.file, command.args, {
    ...command.options,
    stdio: ['ignore', log.handle.fd, log.handle.fd],
  })
  const failure = watchForFailure(child)
  await log.handle.close()
  child.unref()
  while (!failure.happened) {
    if (child.pid && (await isServing(child.pid, options)) && !failure.happened) return { pid: child.pid, port, child }
    await Promise.race([delay(15), failure.promise])
  }
  const output = failure.text || (await readFile(path, 'utf8')).slice(log.size)
  if (OCCUPIED.test(output) || (PORT_TAKEN.test(output) && options.port === 0)) return undefined
  if (PORT_TAKEN.test(output))
    throw new EmbeddedPostgresError(
      `Port ${port} is taken by another program: choose another one, or 0 for any free port.`,
    )
  throw explainOutput('start', output)
}

/** Its own word first, so that a stranger on the same port isn't taken for it; then a connection, which is what counts. */
async function isServing(pid: number, { dataDir }: LaunchOptions): Promise<boolean> {
  const file = await readPostmasterFile(clusterFolder(dataDir))
  return file?.pid === pid && file.isReady && (await probe(file.port)) === 'ready'
}

/** Notes the end of a process, or that it couldn't be started (`text` then says why). */
function watchForFailure(child: ChildProcess): { happened: boolean; text: string; promise: Promise<void> } {
  const failure = { happened: false, text: '', promise: Promise.resolve() }
  failure.promise = new Promise((resolve) => {
    child.once('error', (error) => {
      failure.text = error.message
      failure.happened = true
      resolve()
    })
    child.once('exit', () => {
      failure.happened = true
      resolve()
    })
  })
  return failure
}

async function openLog(path: string) {
  try {
    const size = await stat(path).then(
      (found) => found.size,
      () => 0,
    )
    if (size > LOG_LIMIT_BYTES) await rename(path, `${path}.1`)
    return { handle: await open(path, 'a', 0o640), size: size > LOG_LIMIT_BYTES ? 0 : size }
  } catch (error) {
    throw explainSystemError('write its log', path, error)
  }
}

async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(address && typeof address === 'object' ? address.port : 0))
    })
  })
}
