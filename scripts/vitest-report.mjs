import { relative } from 'node:path'

/**
 * The part of vitest's JSON report that is read here.
 *
 * @typedef {{ passed: number, failed: number }} Counts
 * @typedef {{ fullName: string, status: string, duration?: number | null, meta?: Record<string, unknown> }} VitestCase
 * @typedef {{ name: string, status: string, assertionResults: VitestCase[] }} VitestFile
 * @typedef {{ startTime: number, testResults: VitestFile[] }} VitestReport
 */

/**
 * Tests that passed and failed. A file that could not be loaded counts as one failure, and so does a run that ended
 * badly without naming a test: a failure is never lost in the count.
 *
 * @param {VitestReport | null} report null when vitest wrote none
 * @param {number} exitCode
 * @returns {Counts}
 */
export function countsOf(report, exitCode) {
  const files = report?.testResults ?? []
  const cases = files.flatMap((file) => file.assertionResults)
  const passed = cases.filter(({ status }) => status === 'passed').length
  const failedCases = cases.filter(({ status }) => status === 'failed').length
  const brokenFiles = files.filter(isBroken).length
  const failed = failedCases + brokenFiles
  return { passed, failed: failed === 0 && (exitCode !== 0 || passed === 0) ? 1 : failed }
}

/** @param {VitestFile} file */
function isBroken(file) {
  return file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed')
}

/**
 * One row a test: file, name, outcome, seconds, and what the test noted about itself (`task.meta`, e.g. its seed).
 *
 * @param {VitestReport} report
 * @param {string} root
 */
export function rowsOf(report, root) {
  return report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status, duration, meta }) => ({
      file: relative(root, name),
      test: fullName,
      status,
      seconds: Math.round(duration ?? 0) / 1000,
      ...meta,
    })),
  )
}
