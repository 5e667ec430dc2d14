import { expect, test } from 'vitest'
import type { Call } from './client-log.js'
import { checkOutput, type ProcessOutput } from './output.js'

function answered(status: number | null, code: string | null): Call {
  const base = { verb: 'submit', startedAt: 0, endedAt: 1, outcome: 'fail', marks: [], keys: [], ids: [] } as const
  return { ...base, status, code }
}

function printed(...output: string[]): ProcessOutput {
  return { name: 'server', pid: 7, wasPaused: false, output }
}

test('what healthy processes print, and what healthy servers answer, is passed over', () => {
  const output = ['{"level":30,"msg":"store unreachable: retrying"}', 'attempt 3 was lost']
  const calls = [answered(503, 'store_unavailable'), answered(null, 'ECONNRESET'), answered(409, 'wrong_state')]
  expect(checkOutput([printed(...output)], calls)).toEqual([])
})

test.each([
  ['an unhandled rejection', '[UnhandledPromiseRejection: This error originated …]'],
  ['an unhandled rejection', '{"level":60,"msg":"unhandledRejection"}'],
  ['an uncaught exception', 'Uncaught Exception: boom'],
  ['a timer longer than Node can count', '(node:1) TimeoutOverflowWarning: 2147483648 does not fit'],
  ['a leak of listeners', '(node:1) MaxListenersExceededWarning: Possible EventEmitter memory leak'],
  ['a deadlock in the database', 'error: deadlock detected'],
  ['a unique violation that nobody caught', '{"code":"23505"}'],
  ['a check constraint that had to catch a fault', 'new row violates check constraint "open_tasks_lease"'],
])('%s is told', (rule, line) => {
  const findings = checkOutput([printed('fine', line)], [])
  expect(findings).toEqual([{ point: 8, rule, subject: 'server', detail: line }])
})

test.each([
  [500, 'internal'],
  [502, null],
])('an answer of %s %s is told', (status, code) => {
  expect(checkOutput([], [answered(status, code)])).toHaveLength(1)
})
