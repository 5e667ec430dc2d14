import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'

/**
 * A program that tests start and npm can't bring.
 * @typedef {{ binary: string, aptPackage: string, why: string }} SystemPackage
 */

/** @type {readonly SystemPackage[]} */
export const systemPackages = [
  { binary: 'chromium', aptPackage: 'chromium', why: 'tests/browser/ opens pages in it' },
  { binary: 'curl', aptPackage: 'curl', why: 'tests/docs/ runs the calls that the documents show' },
]

/**
 * Installs what is missing with apt-get where that is possible: Debian, as root.
 *
 * @param {readonly SystemPackage[]} [needed]
 * @throws {Error} that names the command to run where it is not.
 */
export function ensureSystemPackages(needed = systemPackages) {
  const missing = needed.filter(({ binary }) => !isOnPath(binary))
  if (missing.length === 0) return
  const names = [...new Set(missing.map(({ aptPackage }) => aptPackage))]
  if (!canInstall()) throw new Error(explain(missing, names))
  apt(['update', '-qq'])
  apt(['install', '-y', '-qq', '--no-install-recommends', ...names])
}

/** @param {string} binary */
function isOnPath(binary) {
  // sbin: servers of Debian's packages are there, and an ordinary user's path leaves it out.
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return folders.some((folder) => {
    try {
      accessSync(join(folder, binary), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function canInstall() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version')
}

/**
 * @param {readonly SystemPackage[]} missing
 * @param {readonly string[]} names
 */
function explain(missing, names) {
  const lines = missing.map(({ binary, why }) => `  ${binary}: ${why}`)
  const cure = existsSync('/etc/debian_version')
    ? `Install them: sudo apt-get install ${names.join(' ')}`
    : `Install them with your system's package manager (on Debian: ${names.join(' ')}).`
  return ['The tests need programs that are not here:', ...lines, cure].join('\n')
}

/** @param {readonly string[]} args */
function apt(args) {
  const done = spawnSync('apt-get', args, {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  if (done.status !== 0) throw new Error(`apt-get ${args.join(' ')} failed.`)
}
