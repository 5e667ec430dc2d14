import { execFileSync } from 'node:child_process'
import os from 'node:os'
import process from 'node:process'
import { root } from './bootstrap.mjs'

/**
 * On what a result was measured; stands in every result file.
 *
 * @typedef {{ cpu: string, cores: number, memoryGib: number, system: string, node: string }} Machine
 * @returns {Machine}
 */
export function machine() {
  const cpus = os.cpus()
  return {
    cpu: cpus[0]?.model ?? 'unknown',
    cores: cpus.length,
    memoryGib: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version,
  }
}

/**
 * The commit of the checkout, with `+` behind it when files differ from it; null outside of git.
 *
 * @returns {string | null}
 */
export function commit() {
  try {
    const id = git('rev-parse', '--short=12', 'HEAD').trim()
    return git('status', '--porcelain', '--untracked-files=no') === '' ? id : `${id}+`
  } catch {
    return null
  }
}

/** @param {...string} args */
function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}
