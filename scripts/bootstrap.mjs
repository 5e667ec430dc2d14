import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

/** The folder of the checkout. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** The oldest Node that everything here runs on; the same as `engines` in package.json. */
const OLDEST_NODE = [20, 19]

/**
 * Makes a checkout ready to run: looks at the Node version, installs what the lock file asks for when something is
 * missing or of another version, and builds. Does nothing that is already done: about a second when all is in place.
 *
 * @param {{ quiet?: boolean }} [options] `quiet`: output of npm and tsc only when they fail.
 * @throws {Error} with one clear sentence when the Node is too old or a step fails.
 */
export async function bootstrap({ quiet = false } = {}) {
  requireNode()
  if (!isInstalled()) {
    if (!quiet) console.log('Installing packages …')
    run(npm(), ['ci', '--no-audit', '--no-fund'], quiet, 'Installing the packages failed')
  }
  if (!quiet) console.log('Building …')
  build(['-b'], { quiet })
}

/**
 * Runs the TypeScript compiler of this checkout.
 *
 * @param {readonly string[]} args e.g. `['-b', 'bench']`
 * @param {{ quiet?: boolean }} [options]
 */
export function build(args, { quiet = false } = {}) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  run([process.execPath, compiler], args, quiet, 'The build failed')
}

/**
 * Runs `work` when its module is what Node was started with (and not when a test or another script imports it); an
 * error ends the process with code 1 and its message alone.
 *
 * @param {string} moduleUrl `import.meta.url`
 * @param {() => void | Promise<void>} work
 */
export async function main(moduleUrl, work) {
  const started = process.argv[1]
  if (started === undefined || realpathSync(started) !== fileURLToPath(moduleUrl)) return
  // `npm start | head`: that nobody reads any more is no fault.
  process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (error.code !== 'EPIPE') throw error
  })
  try {
    await work()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return
  throw new Error(`Duly needs Node ${OLDEST_NODE.join('.')} or newer; this is ${process.version}.`)
}

/** True when npm's own list of what it installed has every package of the lock file, in its version. */
function isInstalled() {
  const listed = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(listed)) return false
  const installed = packagesOf(listed)
  const wanted = Object.entries(packagesOf(join(root, 'package-lock.json')))
  return wanted.every(
    ([path, entry]) => !isWantedHere(path, entry) || installed[path]?.version === entry.version || entry.link === true,
  )
}

/**
 * @typedef {{ version?: string, link?: boolean, optional?: boolean, os?: string[], cpu?: string[], libc?: string[] }} LockEntry
 * @param {string} file
 * @returns {Record<string, LockEntry>}
 */
function packagesOf(file) {
  return JSON.parse(readFileSync(file, 'utf8')).packages
}

/**
 * Optional packages are binaries for one platform. Those bound to a C library as well are left out: npm chooses among
 * them, and what needs them fails by itself.
 *
 * @param {string} path
 * @param {LockEntry} entry
 */
function isWantedHere(path, entry) {
  if (!path.startsWith('node_modules/')) return false
  if (entry.optional !== true) return true
  if (entry.os === undefined || entry.cpu === undefined || entry.libc !== undefined) return false
  return entry.os.includes(process.platform) && entry.cpu.includes(process.arch)
}

/** npm as the one that started us, else the one on the path. */
function npm() {
  const path = process.env.npm_execpath
  if (path?.endsWith('.js')) return [process.execPath, path]
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm']
}

/**
 * @param {readonly string[]} program
 * @param {readonly string[]} args
 * @param {boolean} quiet
 * @param {string} failure
 */
function run(program, args, quiet, failure) {
  const [command = '', ...first] = program
  const done = spawnSync(command, [...first, ...args], {
    cwd: root,
    stdio: ['ignore', quiet ? 'pipe' : 'inherit', quiet ? 'pipe' : 'inherit'],
    encoding: 'utf8',
    shell: process.platform === 'win32' && command.endsWith('.cmd'),
  })
  if (done.status === 0) return
  if (quiet) process.stderr.write(`${done.stdout ?? ''}${done.stderr ?? ''}`)
  throw new Error(`${failure}: \`${[command, ...first, ...args].join(' ')}\` ${ending(done)}.`)
}

/** @param {{ status: number | null, signal: string | null, error?: Error }} done */
function ending(done) {
  if (done.error !== undefined) return `could not be started (${done.error.message})`
  return done.signal === null ? `ended with code ${done.status}` : `was ended by ${done.signal}`
}
