// npm run check: everything that is not a run of the program. With names (types, lint, rules): those alone.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { bootstrap, main, root } from './bootstrap.mjs'

/** @type {Readonly<Record<string, { says: string, program: string, args: readonly string[] }>>} */
const checks = {
  types: {
    says: 'Types of tests, scripts and benchmarks (the sources were checked by the build)',
    program: 'typescript/bin/tsc',
    args: ['-p', 'tsconfig.tests.json'],
  },
  lint: { says: 'Format and lint', program: '@biomejs/biome/bin/biome', args: ['check', '--error-on-warnings', '.'] },
  rules: {
    says: 'Rules of the repository: imports, pins, links, generated pages, words, samples',
    program: 'vitest/vitest.mjs',
    args: ['run', 'tests/repo', 'tests/docs/samples'],
  },
}

/**
 * Runs checks one after the other; a failing one doesn't hide the next.
 *
 * @param {readonly string[]} [names]
 * @returns {Promise<import('./vitest-report.mjs').Counts>}
 */
export async function runChecks(names = Object.keys(checks)) {
  await bootstrap()
  const failed = names.filter((name) => !passes(name)).length
  return { passed: names.length - failed, failed }
}

/** @param {string} name */
function passes(name) {
  const check = checks[name]
  if (check === undefined) throw new Error(`There is no check "${name}": ${Object.keys(checks).join(', ')}.`)
  console.log(`\n${name}: ${check.says}`)
  const program = join(root, 'node_modules', check.program)
  const done = spawnSync(process.execPath, [program, ...check.args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  console.log(`${name}: ${done.status === 0 ? 'good' : 'FAILED'}`)
  return done.status === 0
}

await main(import.meta.url, async () => {
  const names = process.argv.slice(2)
  const { failed } = await runChecks(names.length > 0 ? names : undefined)
  if (failed > 0) process.exitCode = 1
})
