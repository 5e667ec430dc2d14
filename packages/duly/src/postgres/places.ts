import { createHash } from 'node:crypto'
import { chmod, cp, mkdir, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { type Binaries, linkLibraries, program } from './binaries.js'
import { errorCode, explainOutput, explainSystemError } from './errors.js'
import { asUser, canEnter, type Launcher, runToEnd } from './run-as.js'

/** Where root keeps what the PostgreSQL user must reach when it can't enter the chosen folders. */
const SHARED_ROOT = '/var/lib/duly'

export interface PlaceOptions {
  readonly log: (line: string) => void
  /** Instead of /var/lib/duly. */
  readonly sharedRoot?: string
}

/**
 * Makes the data folder and sees that PostgreSQL's user can enter it. Below a private folder (say, /root) it can't:
 * then the data goes under /var/lib/duly, in a folder named after the wanted path, and the log says so.
 * @returns the absolute path to use
 */
export async function prepareDataDir(wanted: string, launcher: Launcher, options: PlaceOptions): Promise<string> {
  const dataDir = resolve(wanted)
  await makeFolder(dataDir)
  if (await canEnter(launcher, dataDir)) return dataDir
  if (await canEnter(launcher, dirname(dataDir))) {
    // Only the folder itself is private: passage is enough, its listing stays ours and the database files are private anyway.
    await chmod(dataDir, (await stat(dataDir)).mode | 0o011)
    if (await canEnter(launcher, dataDir)) return dataDir
  }
  const mark = createHash('sha256').update(dataDir).digest('hex').slice(0, 12)
  const moved = join(options.sharedRoot ?? SHARED_ROOT, `${basename(dataDir).replace(/^\./, '')}-${mark}`)
  await makeFolder(moved)
  options.log(`the user ${launcher.user?.name} can't enter ${dataDir}, so the data is kept in ${moved}`)
  return moved
}

async function makeFolder(path: string): Promise<void> {
  await makeFolders(path).catch((error: unknown) => {
    throw explainSystemError('make its data folder', path, error)
  })
}

/**
 * Makes a folder and those above it. Not by `recursive`: where a file system answers ENOENT to every new folder, as /proc does, Node
 * tries again without end, in a thread that also keeps the process from ending.
 */
async function makeFolders(path: string): Promise<void> {
  if (await isFolder(path)) return
  const parent = dirname(path)
  if (parent !== path) await makeFolders(parent)
  try {
    await mkdir(path)
  } catch (error) {
    // another process may have made it meanwhile
    if (errorCode(error) !== 'EEXIST' || !(await isFolder(path))) throw error
  }
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}

/**
 * Makes the binaries runnable by the launcher's user: library links made, and the whole build copied to a folder that the
 * user can enter if it can't run where npm put it. Tried by running `initdb --version`.
 */
export async function prepareBinaries(
  installed: Binaries,
  launcher: Launcher,
  options: PlaceOptions & { readonly dataDir: string },
): Promise<Binaries> {
  const linked = await linkLibraries(installed)
  const trial = await tryOut(installed, launcher)
  if (trial.ok) return installed
  if (linked && !launcher.user) throw explainOutput('run', trial.output)
  const home = launcher.user ? (options.sharedRoot ?? SHARED_ROOT) : options.dataDir
  const copy = { ...installed, root: join(home, `postgresql-${installed.version}-${process.arch}`, 'native') }
  if (!(await tryOut(copy, launcher)).ok) {
    options.log(`PostgreSQL can't run from ${installed.root}, so its binaries are copied to ${copy.root}`)
    await copyBuild(installed, copy)
    const second = await tryOut(copy, launcher)
    if (!second.ok) throw explainOutput('run', second.output)
  }
  return copy
}

async function tryOut(binaries: Binaries, launcher: Launcher): Promise<{ ok: boolean; output: string }> {
  return runToEnd(asUser(launcher, program(binaries, 'initdb'), ['--version']))
}

/** Copies beside the target first, then renames: another process sees the whole build or none of it. */
async function copyBuild(from: Binaries, to: Binaries): Promise<void> {
  const folder = join(to.root, '..')
  const draft = `${folder}.${process.pid}`
  try {
    await mkdir(draft, { recursive: true, mode: 0o755 })
    await cp(from.root, join(draft, 'native'), { recursive: true, verbatimSymlinks: true })
    await linkLibraries({ ...from, root: join(draft, 'native') })
    await openToAll(draft)
    await rm(folder, { recursive: true, force: true })
    await rename(draft, folder)
  } catch (error) {
    throw explainSystemError('copy its binaries', folder, error)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** A copy keeps the modes, and an install under a strict umask has private ones. */
async function openToAll(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => !entry.isSymbolicLink()).map((entry) => join(entry.parentPath, entry.name))
  for (const path of [folder, ...paths]) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644)
}
