import { randomBytes } from 'node:crypto'
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Binaries, program } from './binaries.js'
import { EmbeddedPostgresError, errorCode, explainOutput, explainSystemError } from './errors.js'
import { isAlive } from './postmaster-file.js'
import { asUser, type Launcher, runToEnd } from './run-as.js'

/** The superuser and the database of an embedded server. */
export const DATABASE = 'duly'
const PASSWORD_FILE = 'duly.password'
const STAGE = /^postgres\.init-(\d+)-/

export interface ClusterPlace {
  readonly binaries: Binaries
  readonly launcher: Launcher
  readonly dataDir: string
}

/** The folder of the database files within a data folder. */
export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'postgres')
}

/** Where the password of a data folder's superuser stands. */
export function passwordFile(dataDir: string): string {
  return join(clusterFolder(dataDir), PASSWORD_FILE)
}

/** The password of the superuser, which stands beside the data, readable by its owner only. */
export async function readPassword(cluster: string): Promise<string> {
  const path = join(cluster, PASSWORD_FILE)
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    (error) => {
      throw explainSystemError('read its password', path, error)
    },
  )
}

/**
 * Makes the database files if they aren't there: UTF-8, C locale, superuser `duly` with a random password, a database of the
 * same name. Built in a folder of its own and renamed when complete, so that a crash in between leaves nothing half made and
 * of two starters at once one wins and both go on.
 * @returns true if this call made them
 */
export async function ensureCluster(place: ClusterPlace): Promise<boolean> {
  const cluster = clusterFolder(place.dataDir)
  if (await isCluster(cluster)) return false
  await removeAbandonedStages(place.dataDir)
  const stage = join(place.dataDir, `postgres.init-${process.pid}-${randomBytes(4).toString('hex')}`)
  try {
    await buildIn(stage, place)
    return await moveIntoPlace(join(stage, 'data'), cluster)
  } catch (error) {
    throw explainSystemError('make its database files', stage, error)
  } finally {
    await rm(stage, { recursive: true, force: true })
  }
}

async function isCluster(cluster: string): Promise<boolean> {
  return stat(join(cluster, 'PG_VERSION')).then(
    () => true,
    (error) => {
      if (errorCode(error) === 'ENOENT') return false
      throw explainSystemError('read its database files', cluster, error)
    },
  )
}

async function buildIn(stage: string, { binaries, launcher }: ClusterPlace): Promise<void> {
  const data = join(stage, 'data')
  const passwordFile = join(stage, PASSWORD_FILE)
  await mkdir(stage, { mode: 0o700 })
  await writeFile(passwordFile, `${randomBytes(24).toString('hex')}\n`, { mode: 0o600 })
  const user = launcher.user
  if (user) await Promise.all([stage, passwordFile].map((path) => chown(path, user.uid, user.gid)))
  const identity = ['--username', DATABASE, '--pwfile', passwordFile, '--auth', 'scram-sha-256']
  const format = ['--encoding', 'UTF8', '--locale', 'C', '--no-instructions']
  const made = await runToEnd(asUser(launcher, program(binaries, 'initdb'), ['--pgdata', data, ...identity, ...format]))
  if (!made.ok) throw explainOutput('make its database files', made.output)
  const single = asUser(launcher, program(binaries, 'postgres'), ['--single', '-D', data, 'postgres'])
  const created = await runToEnd(single, `CREATE DATABASE ${DATABASE};\n`)
  if (!created.ok || /ERROR|FATAL/.test(created.output))
    throw explainOutput(`create the database ${DATABASE}`, created.output)
  await rename(passwordFile, join(data, PASSWORD_FILE))
}

async function moveIntoPlace(data: string, cluster: string): Promise<boolean> {
  try {
    await rename(data, cluster)
    return true
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(errorCode(error) ?? '')) throw error
    if (await isCluster(cluster)) return false
    const why = `${cluster} is not empty and holds no PostgreSQL data`
    throw new EmbeddedPostgresError(`${why}: move it away, or choose another folder with DULY_DATA_DIR.`, {
      cause: error,
    })
  }
}

/** Stages of processes that died while making them. */
async function removeAbandonedStages(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    const pid = STAGE.exec(name)?.[1]
    if (pid && !(await isAlive(Number(pid)))) await rm(join(dataDir, name), { recursive: true, force: true })
  }
}
