import { readFile, realpath, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { findBinaries } from './binaries.js'
import { type ClusterPlace, clusterFolder, DATABASE, ensureCluster, readPassword } from './cluster.js'
import { EmbeddedPostgresError } from './errors.js'
import { attachOrLaunch, logFile, type RunningServer } from './launch.js'
import { dropOwnership, livingOwner, takeOwnership } from './owner.js'
import { prepareBinaries, prepareDataDir } from './places.js'
import { isAlive } from './postmaster-file.js'
import { chooseLauncher, type Launcher, parsePasswd } from './run-as.js'
import { resolveSettings, type Settings } from './settings.js'
import { type StopMode, stopByControl, stopServer } from './stop.js'

export interface StartPostgresOptions {
  /** Holds the database files, the server's log and its password. Made if absent. */
  readonly dataDir: string
  /** 0 (default): any free port, chosen anew at each start. */
  readonly port?: number
  /** Takes one line for the reader at each notable step. */
  readonly log?: (line: string) => void
  /** Server settings on top of ours; fsync, synchronous_commit and full_page_writes are always on. */
  readonly settings?: Settings
}

/** A PostgreSQL server of our own, ready for connections on 127.0.0.1. */
export interface EmbeddedPostgres {
  /** `postgres://duly:<password>@127.0.0.1:<port>/duly`. Holds the password: don't print it. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** The folder in use: the wanted one, unless PostgreSQL's user couldn't enter that. */
  readonly dataDir: string
  /** The server was running already. */
  readonly reused: boolean
  /** Whether `stop` ends it: false while another living process, which started it, does so. */
  readonly owned: boolean
  /** Resolves when the server is gone, whoever ended it. */
  readonly exited: Promise<void>
  /**
   * Stops the server and resolves when it is gone; `fast` (default) keeps everything and needs no recovery. A server that another living
   * process started is left running. May be called again.
   */
  stop(mode?: StopMode): Promise<void>
}

/**
 * Starts the embedded PostgreSQL on a data folder, or attaches to the one that runs there. From nothing to the first query: about a
 * second; restarted: below 0.1 s. The server outlives neither stop() nor, on Linux, this process.
 * @throws EmbeddedPostgresError that says what was wrong and what to do
 */
export async function startPostgres(options: StartPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {})
  const settings = resolveSettings(options.settings)
  const place = await preparePlace(options.dataDir, log)
  if (await ensureCluster(place)) log(`made a new database in ${place.dataDir}`)
  const server = await attachOrLaunch({ ...place, port: options.port ?? 0, settings, log })
  checkPort(server, options.port ?? 0, place.dataDir)
  const owner = server.child ? undefined : await livingOwner(place.dataDir)
  if (owner === undefined) await takeOwnership(place.dataDir)
  else log(`using the PostgreSQL that process ${owner} started on ${place.dataDir}; it stops with that process`)
  const password = await readPassword(clusterFolder(place.dataDir))
  return handleFor(server, { place, log, password, owned: owner === undefined })
}

async function preparePlace(wanted: string, log: (line: string) => void): Promise<ClusterPlace> {
  const installed = await findBinaries()
  const chosen = await chooseLauncher()
  const dataDir = await realpath(await prepareDataDir(wanted, chosen, { log }))
  const launcher = await asDataOwner(chosen, clusterFolder(dataDir))
  const binaries = await prepareBinaries(installed, launcher, { dataDir, log })
  return { binaries, launcher, dataDir }
}

/** As root: data that another user made stays that user's, who then also runs the server. */
async function asDataOwner(launcher: Launcher, cluster: string): Promise<Launcher> {
  const owner = await stat(cluster).then(
    (found) => found.uid,
    () => undefined,
  )
  if (!launcher.user || owner === undefined || owner === launcher.user.uid) return launcher
  const passwd = await readFile('/etc/passwd', 'utf8')
  const name = passwd
    .split('\n')
    .find((line) => line.split(':')[2] === String(owner))
    ?.split(':')[0]
  const user = name ? parsePasswd(passwd, name) : undefined
  if (user) return { ...launcher, user }
  const why = `The data in ${cluster} belongs to ${name ?? `user id ${owner}`}, which PostgreSQL can't run as`
  throw new EmbeddedPostgresError(
    `${why}: give it to another user (chown -R ${launcher.user.name}), or choose another folder with DULY_DATA_DIR.`,
  )
}

function checkPort(server: RunningServer, wanted: number, dataDir: string): void {
  if (wanted === 0 || server.port === wanted) return
  const what = `PostgreSQL already runs on ${dataDir}, at port ${server.port} (pid ${server.pid}), not ${wanted}`
  throw new EmbeddedPostgresError(`${what}: stop it first, or leave the port open.`)
}

interface HandleParts {
  readonly place: ClusterPlace
  readonly log: (line: string) => void
  readonly password: string
  readonly owned: boolean
}

function handleFor(server: RunningServer, { place, log, password, owned }: HandleParts): EmbeddedPostgres {
  const { pid, port, child } = server
  let gone = false
  const exited = watchUntilGone(server).then(() => {
    gone = true
  })
  return {
    url: `postgres://${DATABASE}:${password}@127.0.0.1:${port}/${DATABASE}`,
    port,
    pid,
    dataDir: place.dataDir,
    reused: child === undefined,
    owned,
    exited,
    async stop(mode = 'fast') {
      if (!owned || gone) return
      if (process.platform === 'win32') await stopByControl(place.binaries, clusterFolder(place.dataDir), mode)
      else await stopServer(pid, mode, (line) => log(`${line} (log: ${logFile(place.dataDir)})`))
      await dropOwnership(place.dataDir)
    },
  }
}

/** A child tells; a server that isn't our child can only be asked. Keeps no process alive by itself. */
async function watchUntilGone({ pid, child }: RunningServer): Promise<void> {
  if (child) {
    if (child.exitCode === null && child.signalCode === null)
      await new Promise((resolve) => child.once('exit', resolve))
    return
  }
  while (await isAlive(pid)) await delay(250, undefined, { ref: false })
}
