import { describe, expect, it } from 'vitest'
import {
  countAs,
  judgeNode,
  type NodeEnd,
  nodeEnds,
  parentCounts,
  type TriggerRule,
  takesIn,
  triggerRules,
} from './trigger.js'

type Ends = readonly (NodeEnd | null)[]

/** The table of rules, word by word, over the ends of the parents as they stand. */
const runsWhen: Record<TriggerRule, (ends: Ends) => boolean> = {
  all_succeeded: (ends) => ends.every((end) => end === 'succeeded'),
  none_failed: (ends) => ends.every((end) => end === 'succeeded' || end === 'skipped'),
  all_done: (ends) => ends.every((end) => end !== null),
  one_succeeded: (ends) => ends.some((end) => end === 'succeeded'),
  one_failed: (ends) => ends.some((end) => end === 'failed' || end === 'cancelled'),
}

const otherwise: Record<TriggerRule, (ends: Ends) => 'skip' | 'fail'> = {
  all_succeeded: (ends) => (ends.includes('skipped') ? 'skip' : 'fail'),
  none_failed: () => 'fail',
  all_done: () => 'fail',
  one_succeeded: () => 'fail',
  one_failed: () => 'skip',
}

/** Every way in which the open parents can end. */
function completions(ends: Ends): Ends[] {
  const open = ends.indexOf(null)
  return open === -1 ? [ends] : nodeEnds.flatMap((end) => completions(ends.with(open, end)))
}

function slowJudge(rule: TriggerRule, ends: Ends): string {
  if (runsWhen[rule](ends)) return 'run'
  return completions(ends).some((complete) => runsWhen[rule](complete)) ? 'wait' : otherwise[rule](ends)
}

function standings(parents: number): Ends[] {
  if (parents === 0) return [[]]
  return standings(parents - 1).flatMap((ends) => [null, ...nodeEnds].map((end) => [...ends, end]))
}

const judge = (rule: TriggerRule, ...ends: Ends) => judgeNode(rule, parentCounts(ends))

describe('judgeNode', () => {
  for (const rule of triggerRules) {
    it(`judges by ${rule} as soon as it is certain, over every standing of up to five parents`, () => {
      for (const parents of [1, 2, 3, 4, 5]) {
        for (const ends of standings(parents)) {
          const verdict = judge(rule, ...ends)
          if (verdict !== slowJudge(rule, ends)) throw new Error(`${rule} of ${ends.join()} is no ${verdict}`)
        }
      }
    })

    it(`keeps its verdict by ${rule}, whatever ends later, but for which of a skip and a failure came first`, () => {
      for (const ends of standings(4)) {
        const verdict = judge(rule, ...ends)
        if (verdict === 'wait') continue
        for (const complete of completions(ends)) {
          expect(judge(rule, ...complete) === 'run').toBe(verdict === 'run')
          if (rule !== 'all_succeeded') expect(judge(rule, ...complete)).toBe(verdict)
        }
      }
    })

    it(`never waits by ${rule} when all parents have ended`, () => {
      for (const ends of standings(4)) if (!ends.includes(null)) expect(judge(rule, ...ends)).not.toBe('wait')
    })

    it(`runs a node without parents by ${rule}`, () => {
      expect(judge(rule)).toBe('run')
    })
  }

  it('lets a skipped parent win over a failed one that stands at the same time', () => {
    expect(judge('all_succeeded', 'failed', 'skipped')).toBe('skip')
    expect(judge('all_succeeded', 'cancelled', null)).toBe('fail')
    expect(judge('all_succeeded', 'skipped', null)).toBe('skip')
  })

  it('takes ten thousand parents by their counts', () => {
    const counts = { parents: 10_000, succeeded: 9_999, skipped: 0, failed: 0 }
    expect(judgeNode('all_succeeded', counts)).toBe('wait')
    expect(judgeNode('all_succeeded', { ...counts, succeeded: 10_000 })).toBe('run')
  })
})

describe('what a node tells its children', () => {
  it('counts a cancelled one as failed, a skipped one as skipped', () => {
    expect(nodeEnds.map(countAs)).toEqual(['succeeded', 'skipped', 'failed', 'failed'])
    expect(parentCounts(['cancelled', 'failed', null, 'skipped', 'succeeded'])).toEqual({
      parents: 5,
      succeeded: 1,
      skipped: 1,
      failed: 2,
    })
  })

  it('lets rules that ask for ends take a failure in', () => {
    expect(triggerRules.filter(takesIn)).toEqual(['all_done', 'one_succeeded', 'one_failed'])
  })
})
