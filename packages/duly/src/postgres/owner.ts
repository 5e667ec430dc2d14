import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from './postmaster-file.js'

/**
 * Which process started (or adopted) the server of a data folder, and so may stop it. A pid alone may be another process's
 * by now; with the start time from /proc it is exact (elsewhere the pid must do).
 */
interface Owner {
  readonly pid: number
  readonly startedAt: string | null
}

const FILE = 'postgres.owner'

async function startTime(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // Field 22, counted after the command name, which may hold spaces and brackets of its own.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
}

async function readOwner(dataDir: string): Promise<Owner | undefined> {
  try {
    return JSON.parse(await readFile(join(dataDir, FILE), 'utf8'))
  } catch {
    return undefined
  }
}

/** Writes ourselves down as the owner of the folder's server. */
export async function takeOwnership(dataDir: string): Promise<void> {
  const owner: Owner = { pid: process.pid, startedAt: await startTime(process.pid) }
  const draft = join(dataDir, `${FILE}.${process.pid}`)
  await writeFile(draft, JSON.stringify(owner))
  await rename(draft, join(dataDir, FILE))
}

/** The pid of the living process, other than us, that owns the folder's server; undefined if there is none. */
export async function livingOwner(dataDir: string): Promise<number | undefined> {
  const owner = await readOwner(dataDir)
  if (!owner || !(await isAlive(owner.pid))) return undefined
  const same = owner.startedAt === null || owner.startedAt === (await startTime(owner.pid))
  return same ? owner.pid : undefined
}

/** Gives the ownership up, if it is still ours. */
export async function dropOwnership(dataDir: string): Promise<void> {
  const owner = await readOwner(dataDir)
  if (owner?.pid === process.pid) await rm(join(dataDir, FILE), { force: true })
}
