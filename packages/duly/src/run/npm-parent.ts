import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** How often to look whether the parent is still there, ms. */
const LOOK_EVERY_MS = 250

/**
 * Resolves when the npm that started this process has ended. `npm start & kill $!` ends npm and the shell between, and the
 * signal goes no further: without this, everything would run on with nobody to stop it. Never settles for a process that
 * npm did not start.
 */
export function npmGone(): Promise<string> {
  return new Promise((resolve) => {
    const parent = process.ppid
    if (process.env.npm_command === undefined || !isScriptOfNpm(process.env, commandOf(parent))) return
    const timer = setInterval(() => {
      if (process.ppid === parent) return
      clearInterval(timer)
      resolve('npm, which started this, has ended')
    }, LOOK_EVERY_MS)
    timer.unref() // it watches what runs; it is no reason to run
  })
}

/**
 * Whether a parent of that command line is npm, or the shell in which npm runs a script that is one command. What the script
 * starts in turn has the same variables but another parent; what a script puts into the background is meant to live on.
 */
export function isScriptOfNpm(env: NodeJS.ProcessEnv, parentCommand: string): boolean {
  const script = env.npm_lifecycle_script
  if (script === undefined || script === '' || /[&;|\n]/.test(script)) return false
  return /^np[mx]( |$)/.test(parentCommand) || parentCommand.includes(script)
}

/** The command line of a process; empty where it can't be read. */
function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  } catch {
    if (process.platform === 'win32') return ''
    const { stdout } = spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
    return stdout ?? '' // null where there is no `ps`
  }
}
