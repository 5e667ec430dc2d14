import { expect, test } from 'vitest'
import { type CronHistory, checkFireTimes, type FiringHistory } from './fire-times.js'

/** Fires at whole seconds of 1970, a quarter of a second late. */
const at = (second: number, over: Partial<FiringHistory> = {}): FiringHistory => {
  const fireMs = second * 1_000
  return { fireMs, firedMs: fireMs + 250, outcome: 'fired', taskFireMs: fireMs, ...over }
}
const passedOver = (second: number, outcome: 'skipped_overlap' | 'skipped_misfire', lateMs: number) =>
  at(second, { outcome, taskFireMs: null, firedMs: second * 1_000 + lateMs })

/** Every promise kept: an interval with something missed, something skipped, and a trigger by hand. */
function kept(over: Partial<CronHistory> = {}): CronHistory {
  return {
    ...{ id: '01890000-0000-7000-8000-000000000001', expression: null, everyMs: 1_000, anchorMs: 0, timezone: 'UTC' },
    ...{ overlap: 'skip', misfire: 'skip', graceMs: 1_000, jitterMs: 0, nextFireMs: 10_000, tasks: 5 },
    firings: [
      ...[at(1), at(2), passedOver(3, 'skipped_overlap', 20), at(3.5, { outcome: 'triggered', taskFireMs: null })],
      ...[passedOver(7, 'skipped_misfire', 1_500), at(8, { firedMs: 8_900 }), at(9)],
    ],
    ...over,
  }
}

const without = (second: number) => kept().firings.filter(({ fireMs }) => fireMs !== second * 1_000)
const having = (firing: FiringHistory) => kept().firings.map((each) => (each.fireMs === firing.fireMs ? firing : each))

test('a definition whose fire times were all judged has no findings, by an interval or an expression', () => {
  expect(checkFireTimes([kept(), kept({ expression: '* * * * * *', everyMs: null })])).toEqual([])
  expect(checkFireTimes([kept({ firings: [], tasks: 0 })])).toEqual([])
})

const broken: readonly (readonly [string, Partial<CronHistory>])[] = [
  ['a fire time is missing', { firings: without(2), tasks: 4 }],
  ['a fire time is missing', { firings: without(7) }],
  ['fired at a time that the schedule does not have', { firings: [at(0.5), ...kept().firings], tasks: 6 }],
  ['what comes next does not follow', { nextFireMs: 11_000 }],
  ['what comes next does not follow', { nextFireMs: 9_000 }],
  ['judged before its time', { firings: having(at(2, { firedMs: 1_990 })) }],
  ['missed within its grace', { firings: having(passedOver(7, 'skipped_misfire', 900)) }],
  ['fired after it was missed', { firings: having(at(8, { firedMs: 9_100 })) }],
  ['skipped for another task, though they may overlap', { overlap: 'queue' }],
  ['a firing without its task', { firings: having(at(2, { taskFireMs: null })) }],
  ['a firing without its task', { firings: having(at(2, { taskFireMs: 1_000 })) }],
  ['a fire time has more than its one task, or less', { tasks: 6 }],
  ['a fire time has more than its one task, or less', { tasks: 4 }],
]

test.each(broken)('%s: %j', (rule, change) => {
  expect(checkFireTimes([kept(change)])).toContainEqual(expect.objectContaining({ point: 5, rule }))
})
