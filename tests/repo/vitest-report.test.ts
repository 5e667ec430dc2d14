import { describe, expect, it } from 'vitest'
import { countsOf, rowsOf, type VitestCase } from '../../scripts/vitest-report.mjs'

const passed: VitestCase = { fullName: 'adds', status: 'passed', duration: 1234.4, meta: { seed: 7 } }
const failed: VitestCase = { fullName: 'divides', status: 'failed' }

function report(...files: VitestCase[][]) {
  const testResults = files.map((cases, index) => ({
    name: `/duly/tests/${index}.test.ts`,
    status: cases.length > 0 && cases.every(({ status }) => status === 'passed') ? 'passed' : 'failed',
    assertionResults: cases,
  }))
  return { startTime: 0, testResults }
}

describe('the count of a run', () => {
  it.each([
    ['all passed', report([passed, passed], [passed]), 0, { passed: 3, failed: 0 }],
    ['one failed', report([passed, failed], [passed]), 1, { passed: 2, failed: 1 }],
    ['a file that can not be loaded', report([passed], []), 1, { passed: 1, failed: 1 }],
    ['a failure outside of any test', report([passed]), 1, { passed: 1, failed: 1 }],
    ['no test at all', report(), 0, { passed: 0, failed: 1 }],
    ['no report', null, 1, { passed: 0, failed: 1 }],
  ])('tells of %s', (_, result, code, counts) => {
    expect(countsOf(result, code)).toEqual(counts)
  })

  it('keeps a row a test, with what the test noted about itself', () => {
    expect(rowsOf(report([passed]), '/duly')).toEqual([
      { file: 'tests/0.test.ts', test: 'adds', status: 'passed', seconds: 1.234, seed: 7 },
    ])
  })
})
