// What `.ci/run` starts: tests, then checks, then one closing line that counts both.
import process from 'node:process'
import { main } from './bootstrap.mjs'
import { runChecks } from './check.mjs'
import { runTests } from './test.mjs'

/** @typedef {import('./vitest-report.mjs').Counts} Counts */

/**
 * A step that can't even run has failed; the next one runs all the same.
 *
 * @param {() => Promise<Counts>} step
 * @returns {Promise<Counts>}
 */
async function counted(step) {
  try {
    return await step()
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return { passed: 0, failed: 1 }
  }
}

await main(import.meta.url, async () => {
  const tests = await counted(() => runTests([]))
  // `rules` ran with the tests: they are tests.
  const checks = await counted(() => runChecks(['types', 'lint']))
  const failed = tests.failed + checks.failed
  process.exitCode = failed > 0 ? 1 : 0
  console.log(`\n${tests.passed + checks.passed} passed, ${failed} failed`)
})
