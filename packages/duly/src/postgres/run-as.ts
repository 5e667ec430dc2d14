import { execFile, type SpawnOptions, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { EmbeddedPostgresError, WAY_OUT } from './errors.js'

const run = promisify(execFile)

/** A user of this machine that PostgreSQL runs as, because it refuses to run as root. */
export interface SystemUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** How programs are started here: as whom, and through which prefix. */
export interface Launcher {
  /** Undefined: as ourselves. */
  readonly user: SystemUser | undefined
  /** True where util-linux's `setpriv` can tie the life of PostgreSQL to ours (Linux only). */
  readonly diesWithParent: boolean
}

/** The user's name, uid and gid as /etc/passwd states them. PostgreSQL itself insists on an entry there. */
export function parsePasswd(passwd: string, name: string): SystemUser | undefined {
  const fields = passwd
    .split('\n')
    .find((line) => line.startsWith(`${name}:`))
    ?.split(':')
  const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])]
  return fields && uid > 0 && Number.isInteger(gid) ? { name, uid, gid } : undefined
}

/** Decides as whom PostgreSQL runs: as ourselves, or, when we are root, as `postgres` or else `nobody`. */
export async function chooseLauncher(): Promise<Launcher> {
  const diesWithParent = process.platform === 'linux' && (await hasSetpriv())
  if (process.getuid?.() !== 0) return { user: undefined, diesWithParent }
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const user = parsePasswd(passwd, 'postgres') ?? parsePasswd(passwd, 'nobody')
  if (user) return { user, diesWithParent }
  const why = 'PostgreSQL refuses to run as root, and there is no user `postgres` or `nobody` to run it as.'
  throw new EmbeddedPostgresError(
    `${why} Start Duly as another user, or add one: \`useradd --system postgres\`.\n${WAY_OUT}`,
  )
}

async function hasSetpriv(): Promise<boolean> {
  return run('setpriv', ['--pdeathsig', 'INT', '--', 'true']).then(
    () => true,
    () => false,
  )
}

/** A program with its arguments, and the options that start it as the chosen user. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly options: SpawnOptions
}

/** Wraps a program so that it runs as the launcher's user, from a folder that everyone may enter, with no PG* settings of ours. */
export function asUser(launcher: Launcher, file: string, args: readonly string[]): Command {
  const identity = launcher.user ? { uid: launcher.user.uid, gid: launcher.user.gid } : {}
  return { file, args, options: { cwd: '/', env: cleanEnvironment(), windowsHide: true, ...identity } }
}

/**
 * Like {@link asUser}, for the server itself: a session of its own, so that a signal to our process group doesn't reach it
 * before we have drained, and (Linux) a clean fast shutdown by SIGINT if we die without stopping it.
 */
export function asServer(launcher: Launcher, file: string, args: readonly string[]): Command {
  const detached = process.platform !== 'win32'
  if (!launcher.diesWithParent) {
    const command = asUser(launcher, file, args)
    return { ...command, options: { ...command.options, detached } }
  }
  const user = launcher.user
  const identity = user ? ['--reuid', String(user.uid), '--regid', String(user.gid), '--clear-groups'] : []
  const prefix = [...identity, '--pdeathsig', 'INT', '--', file]
  return { file: 'setpriv', args: [...prefix, ...args], options: { cwd: '/', env: cleanEnvironment(), detached } }
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'))
  return { ...Object.fromEntries(kept), LANG: 'C', LC_ALL: 'C', TZ: 'UTC' }
}

/** Runs a program to its end. `output` is both streams together; never throws for a program that fails. */
export async function runToEnd(command: Command, input = ''): Promise<{ ok: boolean; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command.file, command.args, { ...command.options, stdio: ['pipe', 'pipe', 'pipe'] })
    let output = ''
    const take = (chunk: Buffer) => {
      output += chunk.toString()
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    child.stdin?.on('error', () => {}) // a program that ended without reading its input says why in its output
    child.stdin?.end(input)
    child.on('error', (error) => resolve({ ok: false, output: `${output}${error.message}` }))
    child.on('close', (code) => resolve({ ok: code === 0, output }))
  })
}

/** Can the launcher's user enter this folder? Tried, not deduced: ACLs, namespaces and mounts have their own rules. */
export async function canEnter(launcher: Launcher, folder: string): Promise<boolean> {
  if (!launcher.user) return true
  const result = await runToEnd(asUser(launcher, '/bin/sh', ['-c', 'cd "$0"', folder]))
  return result.ok
}
