import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { limits } from './limits.js'
import {
  type Backoff,
  backoffs,
  defaultRetryPolicy,
  type Jitter,
  jitters,
  judgeFailure,
  judgeLoss,
  judgeSnooze,
  maxSnoozes,
  maxUndelivered,
  type RetryPolicy,
  retryDelayMs,
} from './retry.js'

const largest = () => 1 - 2 ** -53
const half = () => 0.5

function policy(backoff: Backoff, jitter: Jitter, rest: Partial<RetryPolicy> = {}): RetryPolicy {
  return { maxRetries: 3, backoff, jitter, delayMs: 1_000, maxDelayMs: 60_000, ...rest }
}

describe('retryDelayMs', () => {
  const grown = (backoff: Backoff) => [1, 2, 3, 4, 7].map((n) => retryDelayMs(policy(backoff, 'none'), n, null, half))

  it('grows by the backoff, at most to the cap', () => {
    expect(grown('exponential')).toEqual([1_000, 2_000, 4_000, 8_000, 60_000])
    expect(grown('linear')).toEqual([1_000, 2_000, 3_000, 4_000, 7_000])
    expect(grown('fixed')).toEqual([1_000, 1_000, 1_000, 1_000, 1_000])
  })

  it('draws full jitter from 0 to the delay, equal jitter from its upper half', () => {
    const drawn = (jitter: Jitter, random: () => number) => retryDelayMs(policy('exponential', jitter), 3, null, random)
    expect([() => 0, half, largest].map((random) => drawn('full', random))).toEqual([0, 2_000, 4_000])
    expect([() => 0, half, largest].map((random) => drawn('equal', random))).toEqual([2_000, 3_000, 4_000])
  })

  it('draws decorrelated jitter from the base to three times the previous draw', () => {
    const drawn = (previous: number | null, random: () => number) =>
      retryDelayMs(policy('exponential', 'decorrelated'), 2, previous, random)
    expect([() => 0, half, largest].map((random) => drawn(5_000, random))).toEqual([1_000, 8_000, 15_000])
    expect([() => 0, half, largest].map((random) => drawn(null, random))).toEqual([1_000, 2_000, 3_000])
    expect(drawn(50_000, largest)).toBe(60_000)
    expect(drawn(10, largest)).toBe(1_000)
  })

  it('caps a first delay that is above the maximum itself', () => {
    for (const jitter of jitters) {
      const delay = retryDelayMs(policy('fixed', jitter, { delayMs: 90_000 }), 1, null, largest)
      expect(delay).toBe(60_000)
    }
  })

  it('is a whole number from 0 to the cap for every policy, count and draw', () => {
    const policies = fc.record({
      maxRetries: fc.constant(100),
      backoff: fc.constantFrom(...backoffs),
      jitter: fc.constantFrom(...jitters),
      delayMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: limits.delayMaxMs, noNaN: true })),
      maxDelayMs: fc.oneof(fc.constant(0), fc.double({ min: 0, max: limits.delayMaxMs, noNaN: true })),
    })
    const counts = fc.oneof(fc.integer({ min: 1, max: 101 }), fc.constantFrom(1_024, 1_025, 100_000))
    const previous = fc.option(fc.nat(limits.delayMaxMs))
    const draws = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(policies, counts, previous, draws, (drawn, n, previousMs, random) => {
        const delay = retryDelayMs(drawn, n, previousMs, () => random)
        expect(Number.isSafeInteger(delay)).toBe(true)
        expect(delay).toBeGreaterThanOrEqual(0)
        expect(delay).toBeLessThanOrEqual(drawn.maxDelayMs)
      }),
    )
  })

  it('has the mean of its distribution', () => {
    const random = lehmer(7)
    const mean = (jitter: Jitter) => {
      let sum = 0
      for (let draw = 0; draw < 20_000; draw++) sum += retryDelayMs(policy('fixed', jitter), 1, null, random)
      return sum / 20_000
    }
    expect(Math.abs(mean('full') - 500)).toBeLessThan(15)
    expect(Math.abs(mean('equal') - 750)).toBeLessThan(15)
    expect(Math.abs(mean('decorrelated') - 2_000)).toBeLessThan(30)
  })
})

/** Park and Miller's minimal standard generator: enough for a mean, and seeded. */
function lehmer(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

describe('judgeFailure', () => {
  const failure = {
    policy: defaultRetryPolicy,
    failures: 0,
    retryable: true,
    retryAfterMs: null,
    previousDelayMs: null,
  }

  it('lets max_retries 3 fail four times and no more', () => {
    const kinds: string[] = []
    let failures = 0
    for (let attempt = 1; attempt <= 4; attempt++) {
      const verdict = judgeFailure({ ...failure, failures }, half)
      kinds.push(verdict.kind)
      failures = verdict.failures
    }
    expect(kinds).toEqual(['retry', 'retry', 'retry', 'exhaust'])
    expect(failures).toBe(4)
  })

  it('dies of the first failure without retries', () => {
    const once = { ...defaultRetryPolicy, maxRetries: 0 }
    expect(judgeFailure({ ...failure, policy: once }, half)).toEqual({ kind: 'exhaust', failures: 1 })
  })

  it('fails at once by a permanent error and leaves the count', () => {
    expect(judgeFailure({ ...failure, failures: 2, retryable: false, retryAfterMs: 5 }, half)).toEqual({
      kind: 'fail',
      failures: 2,
    })
  })

  it('draws for the failure that is judged', () => {
    const exact = { ...defaultRetryPolicy, jitter: 'none' as const }
    expect(judgeFailure({ ...failure, policy: exact, failures: 2 }, half)).toEqual({
      kind: 'retry',
      failures: 3,
      delayMs: 240_000,
    })
  })

  it("lets the handler's wish win over draw and cap, within 0 to ten years", () => {
    const asked = (retryAfterMs: number) => judgeFailure({ ...failure, retryAfterMs }, half)
    expect(asked(7_200_000)).toEqual({ kind: 'retry', failures: 1, delayMs: 7_200_000 })
    expect(asked(0)).toEqual({ kind: 'retry', failures: 1, delayMs: 0 })
    expect(asked(-5)).toEqual({ kind: 'retry', failures: 1, delayMs: 0 })
    expect(asked(1e300)).toEqual({ kind: 'retry', failures: 1, delayMs: limits.delayMaxMs })
  })

  it('gives no more retries for a wish', () => {
    expect(judgeFailure({ ...failure, failures: 3, retryAfterMs: 1 }, half).kind).toBe('exhaust')
  })
})

describe('judgeLoss', () => {
  const loss = { crashes: 0, maxCrashes: 3, undelivered: 0, acknowledged: true, draining: false }

  it('counts a crash, makes the task a suspect, and ends it at max_crashes', () => {
    expect(judgeLoss(loss)).toEqual({ kind: 'requeue', crashes: 1, undelivered: 0, suspect: true })
    expect(judgeLoss({ ...loss, crashes: 2 })).toEqual({ kind: 'exhaust', crashes: 3 })
    expect(judgeLoss({ ...loss, maxCrashes: 1 })).toEqual({ kind: 'exhaust', crashes: 1 })
  })

  it('counts nothing when the session drains', () => {
    const drained = { ...loss, draining: true, crashes: 2 }
    expect(judgeLoss(drained)).toEqual({ kind: 'requeue', crashes: 2, undelivered: 0, suspect: true })
    expect(judgeLoss({ ...drained, crashes: 0, acknowledged: false })).toEqual({
      kind: 'requeue',
      crashes: 0,
      undelivered: 0,
      suspect: false,
    })
  })

  it('forgives ten undelivered grants, then counts crashes, so that a task that kills on receipt ends too', () => {
    const trail: string[] = []
    let state = { ...loss, acknowledged: false }
    for (let round = 0; round < 20; round++) {
      const verdict = judgeLoss(state)
      if (verdict.kind === 'exhaust') {
        trail.push(`dead ${verdict.crashes}`)
        break
      }
      expect(verdict.suspect).toBe(true)
      trail.push(`${verdict.undelivered}/${verdict.crashes}`)
      state = { ...state, crashes: verdict.crashes, undelivered: verdict.undelivered }
    }
    expect(trail).toEqual([...Array.from({ length: maxUndelivered }, (_, n) => `${n + 1}/0`), '10/1', '10/2', 'dead 3'])
  })
})

describe('judgeSnooze', () => {
  it('allows a thousand, then the task dies', () => {
    expect(judgeSnooze({ snoozes: 0 })).toEqual({ kind: 'snooze', snoozes: 1 })
    expect(judgeSnooze({ snoozes: maxSnoozes - 1 })).toEqual({ kind: 'snooze', snoozes: 1_000 })
    expect(judgeSnooze({ snoozes: maxSnoozes })).toEqual({ kind: 'exhaust' })
  })
})
