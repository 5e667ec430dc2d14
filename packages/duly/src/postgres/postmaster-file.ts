import { readdir, readFile, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { runToEnd } from './run-as.js'

/** What a running server states about itself in `postmaster.pid`. */
export interface PostmasterFile {
  readonly pid: number
  readonly dataDir: string
  readonly port: number
  /** False while it starts, recovers or stops. */
  readonly isReady: boolean
}

/** Parses `postmaster.pid`: line 1 the pid, line 2 the data folder, line 4 the port, line 8 its state. Undefined when it isn't whole yet. */
export function parsePostmasterFile(text: string): PostmasterFile | undefined {
  const lines = text.split('\n')
  const [pid, dataDir, port] = [Number(lines[0]), lines[1], Number(lines[3])]
  return pid > 0 && dataDir && port > 0 ? { pid, dataDir, port, isReady: lines[7]?.trim() === 'ready' } : undefined
}

/** Reads the `postmaster.pid` of a cluster; undefined if there is none. */
export async function readPostmasterFile(cluster: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')
  return parsePostmasterFile(text)
}

/** Is there a process of this id, whoever's it is? A zombie counts as gone on Linux: it holds nothing but its number. */
export async function isAlive(pid: number): Promise<boolean> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
    return stat !== '' && !/\) [ZX] /.test(stat)
  }
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

/**
 * Does any PostgreSQL process (the server, or a child of a dead one) still work in this cluster? Each has it as its working
 * folder. Where /proc is absent, only the pid of `postmaster.pid` can be asked, by its command name.
 */
export async function isClusterInUse(cluster: string, pid: number): Promise<boolean> {
  if (process.platform !== 'linux') {
    const listed = await runToEnd({ file: 'ps', args: ['-p', String(pid), '-o', 'command='], options: {} })
    return listed.ok && listed.output.includes('postgres')
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const folders = await Promise.all(pids.map((name) => readlink(`/proc/${name}/cwd`).catch(() => '')))
  return folders.some((folder) => folder === cluster)
}
