// npm test [-- --long] [-- arguments of vitest]
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { bootstrap, main, root } from './bootstrap.mjs'
import { commit, machine } from './machine.mjs'
import { ensureSystemPackages } from './system-packages.mjs'
import { countsOf, rowsOf } from './vitest-report.mjs'

/**
 * Installs, builds and runs the tests once. `--long` lets the fault tests run for minutes in place of seconds and
 * keeps the result under tests/results/; every other argument goes to vitest.
 *
 * @param {readonly string[]} args
 * @returns {Promise<import('./vitest-report.mjs').Counts>}
 */
export async function runTests(args) {
  await bootstrap()
  ensureSystemPackages()
  const isLong = args.includes('--long')
  const folder = mkdtempSync(join(tmpdir(), 'duly-test-'))
  try {
    const file = join(folder, 'report.json')
    const seed = process.env.DULY_SEED ?? String(Math.trunc(Math.random() * 2 ** 31))
    console.log(`Seed ${seed} (DULY_SEED=${seed} repeats this run's random choices)`)
    const env = { ...process.env, DULY_SEED: seed, ...(isLong ? { DULY_LONG: '1' } : {}) }
    const code = await vitest(
      args.filter((arg) => arg !== '--long'),
      { file, env },
    )
    const report = readReport(file)
    if (isLong && report !== null) keep(report, seed)
    return countsOf(report, code)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {readonly string[]} args
 * @param {{ file: string, env: NodeJS.ProcessEnv }} options
 * @returns {Promise<number>} the exit code
 */
function vitest(args, { file, env }) {
  const program = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`]
  const child = spawn(process.execPath, [program, 'run', ...reporters, ...args], {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  // Asked to end, vitest ends first: its tests stop the processes that they started.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.once(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve(code ?? 1))
  })
}

/** @param {string} file */
function readReport(file) {
  try {
    return /** @type {import('./vitest-report.mjs').VitestReport} */ (JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return null // vitest ended before it wrote one; its exit code tells
  }
}

/**
 * @param {import('./vitest-report.mjs').VitestReport} report
 * @param {string} seed
 */
function keep(report, seed) {
  const folder = join(root, 'tests', 'results')
  const date = new Date(report.startTime).toISOString()
  const id = commit()
  const file = join(folder, `${date.slice(0, 10)}-${(id ?? 'unknown').replace('+', '-changed')}.json`)
  mkdirSync(folder, { recursive: true })
  const faultSeconds = Number(process.env.DULY_FAULT_SECONDS ?? 600)
  const result = { commit: id, date, machine: machine(), seed, faultSeconds, tests: rowsOf(report, root) }
  writeFileSync(file, resultText(result))
  console.log(`Result kept in ${file}`)
}

/**
 * JSON with one line a test, so that a result stays readable and short.
 *
 * @param {{ tests: readonly object[] } & Record<string, unknown>} result
 */
function resultText({ tests, ...head }) {
  const lines = tests.map((test) => `    ${JSON.stringify(test)}`).join(',\n')
  return `${JSON.stringify(head, null, 2).replace(/\n\}$/, '')},\n  "tests": [\n${lines}\n  ]\n}\n`
}

await main(import.meta.url, async () => {
  const { failed } = await runTests(process.argv.slice(2))
  if (failed > 0) process.exitCode = 1
})
