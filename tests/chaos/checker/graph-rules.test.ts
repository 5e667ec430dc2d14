import { judgeNode, parentCounts, type TriggerRule, triggerRules } from '@duly/domain'
import { expect, test } from 'vitest'
import { isNotNeeded, mayRun, type Standing, verdictsOf } from './graph-rules.js'

const ends = ['succeeded', 'skipped', 'failed'] as const
type End = (typeof ends)[number]

/** Every way in which up to so many dependencies end, in every order. */
function sequences(length: number): End[][] {
  if (length === 0) return [[]]
  return sequences(length - 1).flatMap((some) => [some, ...ends.map((end) => [...some, end])])
}

/** The verdict of the domain's rule when the ends come one by one, and after how many of them. */
function judged(rule: TriggerRule, order: readonly End[]): { readonly verdict: string; readonly after: number } {
  for (let after = 0; after <= order.length; after += 1) {
    const told = order.map((end, place) => (place < after ? end : null))
    const verdict = judgeNode(rule, parentCounts(told))
    if (verdict !== 'wait') return { verdict, after }
  }
  throw new Error('never judged')
}

test.each(triggerRules)('%s is reckoned as the domain judges it, in whatever order dependencies end', (rule) => {
  const seen = new Map<string, Set<string>>()
  for (const order of sequences(4)) {
    const { verdict, after } = judged(rule, order)
    const key = [...order].sort().join(' ')
    seen.set(key, (seen.get(key) ?? new Set()).add(verdict))
    expect(verdictsOf(rule, order)).toContain(verdict)
    const standing = (ended: number) => order.map((end, place): Standing => (place < ended ? end : 'open'))
    // as soon as it is certain, and not before
    expect(verdictsOf(rule, standing(after))).toContain(verdict)
    for (let ended = 0; ended < after; ended += 1) expect(verdictsOf(rule, standing(ended))).toEqual([])
    for (let ended = 0; ended <= order.length; ended += 1)
      if (verdict === 'run') expect(mayRun(rule, standing(ended))).toBe(true)
  }
  for (const order of sequences(4)) {
    for (let ended = 0; ended <= order.length; ended += 1) {
      const told = order.map((end, place) => (place < ended ? end : null))
      const isSkipped = judgeNode(rule, parentCounts(told)) === 'skip'
      expect(
        isNotNeeded(
          rule,
          told.map((end) => end ?? 'open'),
        ),
      ).toBe(isSkipped)
    }
  }
  for (const [key, verdicts] of seen) {
    const parents = key === '' ? [] : (key.split(' ') as End[])
    expect([...verdicts].sort()).toEqual([...verdictsOf(rule, parents)].sort())
  }
})
