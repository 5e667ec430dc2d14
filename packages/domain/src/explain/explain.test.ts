import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { taskStatuses } from '../statuses.js'
import { attempt, end, facts, nowMs, run, uuid } from '../testing/explained.js'
import { causeCodes, renderCauses } from './codes.js'
import { explain } from './explain.js'
import type { ExplainFacts } from './facts.js'

const codes = (given: ExplainFacts): string[] => explain(given).causes.map(({ code }) => code)

describe('a RUNNING task', () => {
  const running = { status: 'RUNNING', attempt: 2, failures: 1 } as const

  it('tells who runs it, for how long, and until when', () => {
    const given = facts({ task: { ...running, running: run() } })
    expect(explain(given).summary).toMatch(
      /^Worker mailer \(worker-[0-9a-z]{26}\) has run attempt 2 for 12 s; its time limit is in 4 min 48 s\.$/,
    )
    expect(explain(given).causes).toMatchObject([
      {
        code: 'running',
        attempt: 2,
        failures: 1,
        maxRetries: 3,
        forMs: 12_000,
        inMs: 288_000,
        isLeaseLive: true,
        workerId: uuid,
      },
    ])
  })

  it('whose worker is silent says so first', () => {
    const quiet = facts({ task: { ...running, running: run({ lastHeartbeatAtMs: nowMs - 11_000 }) } })
    expect(explain(quiet).summary).toBe(
      'Its worker was not heard for 11 s; when its lease is over, the task is taken back.',
    )
    const dead = facts({
      task: { ...running, running: run({ isLeaseLive: false, lastHeartbeatAtMs: nowMs - 16_000 }) },
    })
    expect(explain(dead).summary).toMatch(/its lease is over, and the task is about to be taken back/)
    const gone = facts({ task: { ...running, running: run({ isLeaseLive: false, lastHeartbeatAtMs: null }) } })
    expect(explain(gone).summary).toMatch(/^Its worker is gone;/)
    expect(explain(gone).causes[0]).not.toHaveProperty('forMs')
  })

  it('that is to be cancelled says since when, and when it ends', () => {
    const marked = run({ cancelRequestedAtMs: nowMs - 2_000, cancelReason: 'overlap', endsAtMs: nowMs + 4_000 })
    expect(explain(facts({ task: { ...running, running: marked } }))).toMatchObject({
      summary: 'Its cancellation was requested 2 s ago: its worker was told to stop it, and ends in 4 s at the latest.',
      causes: [{ code: 'cancel_requested', reason: 'overlap', inMs: 4_000 }, { code: 'running' }],
    })
  })

  it('past its deadline says when the attempt is ended', () => {
    const late = run({ deadlineAtMs: nowMs - 1_000, endsAtMs: nowMs + 5_000 })
    expect(codes(facts({ task: { ...running, running: late } }))).toEqual(['past_deadline', 'running'])
    const over = run({ deadlineAtMs: nowMs - 9_000, endsAtMs: nowMs - 1_000 })
    expect(explain(facts({ task: { ...running, running: over } })).summary).toMatch(/is ended in an instant/)
  })

  it('tells what else there is: no word of the worker, a drain, progress, crashes behind it', () => {
    const told = run({ isAcknowledged: false, isDraining: true })
    const progress = { percent: 40.725, note: 'half', updatedAtMs: nowMs - 3_000 }
    const given = facts({ task: { ...running, crashes: 1, running: told, progress } })
    expect(codes(given)).toEqual(['running', 'unacknowledged', 'worker_draining', 'progress', 'suspect'])
    expect(explain(given).causes[3]?.message).toBe('Its handler was at 40 % (half) 3 s ago.')
    expect(explain(given).causes[4]?.message).toMatch(/it runs as a suspect/)
  })
})

describe('a task that has ended', () => {
  it('tells who did it, and how long it took', () => {
    const given = facts({ task: { status: 'SUCCEEDED', attempt: 1, end: end() } })
    expect(explain(given).summary).toMatch(
      /^Attempt 1 succeeded after 1 s on worker mailer \(worker-\w+\), 3 min ago\.$/,
    )
    expect(codes(given)).toEqual(['succeeded'])
  })

  it('FAILED by an error, or by a dependency', () => {
    const error = { class: 'PermanentError', message: 'no such user' }
    const failed = facts({ task: { status: 'FAILED', attempt: 1, end: end({ error }) } })
    expect(explain(failed).summary).toBe(
      'Attempt 1 ended it with a permanent error 3 min ago: PermanentError: no such user.',
    )
    const upstream = facts({ task: { status: 'FAILED', end: end({ reason: 'dependency' }) } })
    expect(codes(upstream)).toEqual(['dependency_failed'])
    const node = (name: string, status: 'FAILED' | 'DEAD') => ({ id: uuid, node: name, status })
    const tasks = [node('a', 'DEAD'), node('b', 'FAILED'), node('c', 'FAILED'), node('d', 'FAILED')]
    const named = explain({ ...upstream, blockers: { kind: 'dependencies', count: 5, tasks, rule: 'all_succeeded' } })
    expect(named.summary).toBe(
      'It was not run 3 min ago, since a (DEAD), b (FAILED), c (FAILED) and 2 more ended otherwise than it must.',
    )
    expect(named.causes[0]).toMatchObject({ blockerCount: 5, blockers: tasks, triggerRule: 'all_succeeded' })
    const ruled = explain({
      ...upstream,
      blockers: { kind: 'dependencies', count: 1, tasks: [node('a', 'DEAD')], rule: 'none_failed' },
    })
    expect(ruled.summary).toBe(
      'It was not run 3 min ago, since a (DEAD) ended otherwise than its trigger rule none_failed asks.',
    )
  })

  it('DEAD by failures, crashes or snoozes, and what became of the dead letter', () => {
    const error = { class: 'SmtpError', message: 'no' }
    const dead = (lastAttempt: ReturnType<typeof attempt>, over = {}) =>
      facts({
        task: {
          status: 'DEAD',
          attempt: 4,
          failures: 4,
          crashes: 3,
          snoozes: 1_000,
          lastAttempt,
          end: end({ error, isDeadLetter: true, ...over }),
        },
      })
    expect(explain(dead(attempt()))).toMatchObject({
      summary: 'It failed 4 times, with 3 retries to spend, the last time 3 min ago: SmtpError: no.',
      causes: [{ code: 'retries_exhausted', failures: 4, maxRetries: 3 }, { code: 'dead_letter' }],
    })
    expect(explain(dead(attempt({ outcome: 'lost' }))).summary).toBe(
      '3 workers went down with it, the last one 3 min ago.',
    )
    expect(explain(dead(attempt({ outcome: 'snoozed' }))).summary).toMatch(/put it off 1,000 times/)
    const given = explain(
      dead(attempt(), { isDeadLetter: false, discardedAtMs: nowMs - 1_000, discardActor: 'api:key-1' }),
    )
    expect(given.causes).toMatchObject([
      { code: 'retries_exhausted' },
      {
        code: 'discarded',
        actor: 'api:key-1',
        message: expect.stringMatching(/^It was discarded 1 s ago, by api:key-1:/),
      },
    ])
  })

  it.each([
    ['cancelled', 'cancelled', 'It was cancelled 3 min ago, by api:key-1.'],
    ['cancel_requested', 'cancelled', 'It was cancelled 3 min ago, by api:key-1.'],
    ['expired', 'expired', 'It had not started when it was to have, and expired 3 min ago.'],
    ['skipped', 'skipped', 'It was skipped 3 min ago: its trigger rule can not be met.'],
    ['workflow_cancelled', 'cancelled', 'It was cancelled with its workflow 3 min ago, by api:key-1.'],
    ['workflow_failed', 'cancelled', 'It was cancelled 3 min ago, since another task of its workflow failed.'],
    ['purged', 'purged', 'Its queue was emptied 3 min ago, by api:key-1.'],
    ['overlap', 'overlapped', 'A later task of its recurring task took its place 3 min ago.'],
  ])('CANCELLED for the reason %s has the cause %s', (reason, code, message) => {
    const given = facts({ task: { status: 'CANCELLED', end: end({ reason, actor: 'api:key-1' }) } })
    expect(explain(given)).toMatchObject({ summary: message, causes: [{ code, reason, message }] })
  })
})

describe('every explanation', () => {
  it('has a cause, known codes, and one sentence each, whatever the numbers', () => {
    const known = new Set<string>(causeCodes.map(({ code }) => code))
    const number = fc.integer({ min: 0, max: 1_000_000 })
    const ms = fc.integer({ min: nowMs - 1e10, max: nowMs + 1e10 })
    fc.assert(
      fc.property(
        fc.constantFrom(...taskStatuses),
        fc.tuple(number, number, number),
        ms,
        ms,
        ({ name }, [a, b, c], at, then) => {
          const isOpen = ['SCHEDULED', 'PENDING', 'BLOCKED', 'RUNNING', 'RETRYING'].includes(name)
          const task = {
            ...{ status: name, attempt: a, failures: b, crashes: c, dueAtMs: at, expiresAtMs: then },
            running: name === 'RUNNING' ? run({ startedAtMs: at, deadlineAtMs: then, lastHeartbeatAtMs: at }) : null,
            end: isOpen ? null : end({ completedAtMs: at }),
          }
          const blockers = name === 'BLOCKED' ? ({ kind: 'earlier', count: a, tasks: [], rule: null } as const) : null
          const { summary, causes } = explain(facts({ task, blockers }))
          expect(causes.length).toBeGreaterThan(0)
          expect(summary).toBe(causes[0]?.message)
          for (const { code, message } of causes) {
            expect(known).toContain(code)
            expect(message).toMatch(/^[A-Z0-9].*\.$/)
            expect(message).not.toMatch(/undefined|null|NaN/)
          }
        },
      ),
    )
  })

  it('has its codes once each on the page', () => {
    const names = causeCodes.map(({ code }) => code)
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(renderCauses()).toContain(`| \`${name}\` |`)
  })
})
