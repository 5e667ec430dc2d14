import { describe, expect, it } from 'vitest'
import { attempt, facts, lane, nowMs, uuid, workers } from '../testing/explained.js'
import type { TriggerRule } from '../workflow/index.js'
import { explain } from './explain.js'
import type { ExplainFacts } from './facts.js'

const codes = (given: ExplainFacts): string[] => explain(given).causes.map(({ code }) => code)
const causeOf = (given: ExplainFacts, code: string) => explain(given).causes.find((cause) => cause.code === code)

describe('a PENDING task', () => {
  it('that is next and may start says so, with nothing else', () => {
    expect(explain(facts())).toMatchObject({
      status: 'PENDING',
      summary: '10 slots of 10 are free on the 1 worker that may run it: it starts with a next claim.',
      causes: [
        { code: 'slot_free', workers: 1, slots: 10, running: 0 },
        { code: 'lane_position', ahead: 0, message: 'It is the next of its lane.', estimate: null },
      ],
    })
  })

  it('of a paused queue waits for somebody to resume it, and the rest is told all the same', () => {
    const queue = { isPaused: true, pausedAtMs: nowMs - 7_320_000 }
    expect(explain(facts({ queue }))).toMatchObject({
      summary: 'Its queue mail has been paused for 2 h 2 min.',
      causes: [{ code: 'queue_paused', queue: 'mail', forMs: 7_320_000 }, { code: 'lane_position' }],
    })
    const unknown = causeOf(facts({ queue: { isPaused: true, pausedAtMs: null } }), 'queue_paused')
    expect(unknown?.message).toBe('Its queue mail has been paused.')
    expect(unknown).not.toHaveProperty('forMs')
  })

  const none = { ...workers, fitting: 0, slots: 0 }
  const near = { id: uuid, name: 'sms', queues: ['mails'], taskTypes: ['send', 'b', 'c', 'd'] }

  it('without any worker says so', () => {
    const given = facts({ workers: { ...none, live: 0, forQueue: 0 } })
    expect(codes(given)).toEqual(['no_worker_for_queue', 'lane_position'])
    expect(explain(given).summary).toBe('No live worker serves its queue mail: no worker is there at all.')
  })

  it('whose queue nobody serves names the worker that comes near', () => {
    const missing = { ...near, missing: ['queue'] as const }
    const given = facts({ workers: { ...none, live: 2, forQueue: 0, near: [missing] } })
    expect(explain(given).summary).toBe(
      'No live worker serves its queue mail: 2 live workers serve other queues; the nearest, sms, serves mails.',
    )
    expect(causeOf(given, 'no_worker_for_queue')).toMatchObject({ workers: 2, nearWorkers: [missing] })
  })

  it('whose type nobody serves in its queue names the worker that comes near', () => {
    const missing = { ...near, missing: ['task_type'] as const }
    const given = facts({ workers: { ...none, live: 3, forQueue: 1, near: [missing] } })
    expect(explain(given).summary).toBe(
      '1 live worker serves its queue mail, but none its type send; the nearest, sms, serves send, b, c, ….',
    )
    expect(causeOf(given, 'no_worker_for_type')).toMatchObject({ workers: 1, nearWorkers: [missing] })
  })

  it('whose workers are bound to others says so', () => {
    const given = facts({ workers: { ...none, live: 2, forQueue: 2, ofOtherTenants: 2 } })
    expect(explain(given).summary).toBe(
      '2 live workers serve its queue mail and its type send, but none of them its tenant acme.',
    )
  })

  it('whose workers drain says whether another one is left', () => {
    const only = facts({ workers: { ...none, draining: 1, ofOtherTenants: 1 } })
    expect(explain(only).summary).toBe('The only live worker that could run it is draining and takes nothing more.')
    const all = facts({ workers: { ...none, draining: 2 } })
    expect(explain(all).summary).toBe('All 2 live workers that could run it are draining and take nothing more.')
    const beside = facts({ workers: { ...workers, draining: 1 } })
    expect(codes(beside)).toEqual(['slot_free', 'worker_draining', 'lane_position'])
  })

  it('behind busy slots says how many, and since when the oldest runs', () => {
    const given = facts({
      workers: { ...workers, fitting: 2, slots: 1_200, running: 1_200, oldestStartedAtMs: nowMs - 60_000 },
      lane: { ...lane, ahead: 14_200, depth: 20_000, starts: 24_000 },
    })
    expect(explain(given)).toMatchObject({
      summary: 'All slots of the 2 workers that may run it are busy: 1,200 of 1,200, the longest for 1 min.',
      causes: [
        { code: 'slots_busy', forMs: 60_000 },
        {
          code: 'lane_position',
          estimate: { waitMs: 177_500, startsPerSecond: 80, startsOf: 'queue', windowMs: 300_000, share: 1 },
          message:
            '14,200 tasks of its lane are ahead of it: about 2 min 57 s, if its lane gets 100 % of the 80 starts a second that its queue had in the last 5 min.',
        },
      ],
    })
  })

  it('beyond the bound of the count says more than that, and at least so long', () => {
    const given = facts({ lane: { ...lane, ahead: 10_000, isAheadExact: false, depth: 900_000, starts: 30 } })
    const place = causeOf(given, 'lane_position')
    expect(place?.message).toMatch(
      /^More than 10,000 tasks of its lane are ahead of it: at least 1 d .*0.1 starts a second/,
    )
    expect(place).toMatchObject({ ahead: 10_000, isAheadExact: false, depth: 900_000 })
  })

  it('with nothing started of late gives no estimate', () => {
    const place = causeOf(facts({ lane: { ...lane, ahead: 1 } }), 'lane_position')
    expect(place).toMatchObject({ message: '1 task of its lane is ahead of it.', estimate: null })
  })

  it('that can not start gives no estimate, whatever its queue did before', () => {
    const busy = { ...lane, ahead: 19, starts: 3_000 }
    expect(causeOf(facts({ lane: busy }), 'lane_position')).toMatchObject({ estimate: { startsOf: 'queue' } })
    const message = '19 tasks of its lane are ahead of it.'
    const paused = facts({ lane: busy, queue: { isPaused: true, pausedAtMs: null } })
    expect(causeOf(paused, 'lane_position')).toMatchObject({ message, estimate: null })
    const unserved = facts({ lane: busy, workers: { ...workers, fitting: 0, slots: 0, draining: 1 } })
    expect(causeOf(unserved, 'lane_position')).toMatchObject({ message, estimate: null })
  })

  it('whose workers filled their slots a moment ago, and have ended nothing yet, gives no estimate', () => {
    const young = { ...lane, ahead: 200, starts: 50, windowMs: 5_000 }
    const filled = facts({ lane: young, workers: { ...workers, slots: 50, running: 50 } })
    expect(causeOf(filled, 'lane_position')).toMatchObject({ estimate: null })
    const gone = facts({ lane: { ...young, starts: 250 }, workers: { ...workers, slots: 50, running: 50 } })
    expect(causeOf(gone, 'lane_position')).toMatchObject({ estimate: { waitMs: 4_000 } })
  })

  it('beside other lanes says which share of the starts is its own', () => {
    const given = facts({ lane: { ...lane, ahead: 35, starts: 3_000, priorities: [1, 2, 3], tenants: 2, gates: 2 } })
    expect(causeOf(given, 'other_lanes')).toMatchObject({
      ...{ share: 0.0625, tenants: 2, gates: 2 },
      priorities: [
        { priority: 1, share: 0.7 },
        { priority: 2, share: 0.25 },
        { priority: 3, share: 0.05 },
      ],
      message:
        'Its lane gets about 6 % of the starts of its queue, which are shared among priorities by weight (high 70 %, medium 25 %, low 5 %), and 2 tenants of its priority alike, and 2 gates of its tenant alike.',
    })
    expect(causeOf(given, 'lane_position')?.estimate).toMatchObject({ waitMs: 56_000, share: 0.0625 })
  })

  it('is told nothing of other tenants where those are not its business', () => {
    const given = facts({ lane: { ...lane, tenants: null, priorities: [2, 3] } })
    expect(causeOf(given, 'other_lanes')?.message).not.toMatch(/tenant/)
  })

  it('in a gate of its type, or beyond the cap of its queue, says why', () => {
    const aside = facts({ task: { gate: 'send' } })
    expect(codes(aside)).toEqual(['slot_free', 'set_aside', 'lane_position'])
    const over = facts({ task: { gate: '!overflow' } })
    expect(codes(over)).toEqual(['overflow', 'lane_position'])
    expect(explain(over).summary).toMatch(/served once the queue is below half of its cap/)
  })

  it('that took workers with it waits apart, for its turn where all hold one', () => {
    const lastLoss = attempt({ attempt: 2, outcome: 'lost', endedAtMs: nowMs - 90_000 })
    const task = { gate: '!suspect', attempt: 2, crashes: 2, lastLoss, lastAttempt: lastLoss }
    const given = facts({ task, workers: { ...workers, fitting: 2, running: 1, withSuspect: 1 } })
    expect(codes(given)).toEqual(['slot_free', 'lane_position', 'suspect'])
    expect(causeOf(given, 'suspect')).toMatchObject({
      ...{ crashes: 2, maxCrashes: 3, undelivered: 0, attempt: 2, workerName: 'mailer' },
      message:
        'Worker mailer was lost with it in attempt 2, 1 min 30 s ago (2 of the 3 crashes that end it): it waits for its turn as a suspect, of which a worker holds one at a time.',
    })
    const turn = facts({ task, workers: { ...workers, withSuspect: 1, running: 1 } })
    expect(codes(turn)).toEqual(['suspect_turn', 'lane_position', 'suspect'])
    const undelivered = facts({ task: { gate: '!suspect', undelivered: 1 } })
    expect(causeOf(undelivered, 'suspect')?.message).toMatch(
      /^A worker was lost with it \(1 of its grants did not arrive\)/,
    )
  })

  it('that may expire says when, and one that ran never does', () => {
    const expiresAtMs = nowMs + 65_000
    expect(causeOf(facts({ task: { expiresAtMs } }), 'expires')).toMatchObject({ expiresAtMs, inMs: 65_000 })
    expect(codes(facts({ task: { expiresAtMs, attempt: 1 } }))).not.toContain('expires')
  })
})

describe('a SCHEDULED task', () => {
  const scheduled = { status: 'SCHEDULED', dueAtMs: nowMs + 10_920_000 } as const

  it('waits for its time, and what will keep it then is told already', () => {
    const given = facts({ task: scheduled, workers: { ...workers, fitting: 0, live: 0, forQueue: 0 } })
    expect(explain(given).summary).toBe('It is due in 3 h 2 min.')
    expect(codes(given)).toEqual(['not_due', 'no_worker_for_queue'])
  })

  it('may have been put off by its handler', () => {
    const lastAttempt = attempt({ outcome: 'snoozed', delayMs: 600_000, error: null })
    const given = facts({ task: { ...scheduled, snoozes: 3, attempt: 3, lastAttempt } })
    expect(explain(given).summary).toBe(
      'Its handler put it off by 10 min, 3 times so far; it is due again in 3 h 2 min.',
    )
  })

  it('that expires before it is due says first that it will not start', () => {
    const task = { ...scheduled, expiresAtMs: nowMs + 65_000 }
    expect(explain(facts({ task })).summary).toBe(
      'It ends CANCELLED (expired) in 1 min 5 s, before it is due: as it stands it never starts.',
    )
    const without = { ...workers, fitting: 0, live: 0, forQueue: 0 }
    expect(codes(facts({ task, workers: without }))).toEqual(['expires', 'not_due', 'no_worker_for_queue'])
    const later = { ...task, expiresAtMs: scheduled.dueAtMs + 1 }
    expect(codes(facts({ task: later }))).toEqual(['not_due', 'expires'])
    expect(codes(facts({ task: { ...task, attempt: 1 } }))).toEqual(['not_due'])
  })

  it('that is due waits for an instant, or for a scheduler', () => {
    const due = { ...scheduled, dueAtMs: nowMs - 120 }
    expect(explain(facts({ task: due })).summary).toBe('It was due 120 ms ago and is about to become ready.')
    const schedulers = { live: 0, lastSeenAtMs: nowMs - 30_000 }
    expect(explain(facts({ task: due, schedulers })).summary).toBe(
      'No scheduler node lives, so that nothing that is due becomes ready; the last was seen 30 s ago.',
    )
    expect(codes(facts({ task: scheduled, schedulers: { live: 0, lastSeenAtMs: null } }))).toEqual([
      'not_due',
      'no_scheduler',
    ])
  })
})

describe('a RETRYING task', () => {
  const retrying = { status: 'RETRYING', dueAtMs: nowMs + 40_000, attempt: 2, failures: 2 } as const
  const last = attempt({ attempt: 2, delayMs: 90_000, isDelayWished: false })

  it('tells the failure, the delay that was drawn, and how', () => {
    const given = facts({ task: { ...retrying, lastAttempt: last } })
    expect(explain(given).summary).toBe(
      'Attempt 2 failed (SmtpError: no route), failure 2 of the 4 that end it; it waits for a delay of 1 min 30 s (exponential backoff, full jitter), which is over in 40 s.',
    )
    expect(explain(given).causes[0]).toMatchObject({
      ...{ code: 'retrying', failures: 2, maxRetries: 3, delayMs: 90_000, delayFrom: 'backoff', inMs: 40_000 },
      error: { class: 'SmtpError' },
    })
  })

  it('tells a delay that its handler asked for, and one of which nobody knows', () => {
    const wished = facts({ task: { ...retrying, lastAttempt: { ...last, isDelayWished: true } } })
    expect(explain(wished).summary).toMatch(/it waits for 1 min 30 s, as its handler asked, which is over/)
    const unknown = facts({ task: { ...retrying, lastAttempt: { ...last, isDelayWished: null } } })
    expect(explain(unknown).causes[0]).toMatchObject({ delayFrom: null })
    expect(explain(unknown).summary).not.toMatch(/backoff|asked/)
    const timedOut = facts({
      task: { ...retrying, jitter: 'none', lastAttempt: { ...last, outcome: 'timed_out', error: null } },
    })
    expect(explain(timedOut).summary).toMatch(/^Attempt 2 ran out of time, failure 2 .*no jitter/)
  })

  it('that is due needs a scheduler', () => {
    const due = { ...retrying, dueAtMs: nowMs - 9_000, lastAttempt: last }
    expect(codes(facts({ task: due, schedulers: { live: 0, lastSeenAtMs: null } }))).toEqual([
      'no_scheduler',
      'retrying',
    ])
    expect(codes(facts({ task: due }))).toEqual(['due', 'retrying'])
  })
})

describe('a BLOCKED task', () => {
  const blocked = { status: 'BLOCKED' } as const

  it('of a recurring one waits for earlier ones', () => {
    const tasks = [{ id: uuid, node: null, status: 'RUNNING' }] as const
    const blockers = { kind: 'earlier', count: 2, tasks, rule: null } as const
    expect(explain(facts({ task: blocked, blockers }))).toMatchObject({
      summary: 'It waits for the end of 2 earlier tasks of its recurring task, told to stop.',
      causes: [{ code: 'waits_for_earlier', blockerCount: 2, blockers: blockers.tasks }],
    })
    const over = { ...blockers, count: 0, tasks: [] }
    expect(explain(facts({ task: blocked, blockers: over })).summary).toMatch(/becomes ready in an instant/)
  })

  it('of a workflow names what it depends on', () => {
    const of = (node: string, status: 'RUNNING' | 'PENDING') => ({ id: uuid, node, status })
    const tasks = [of('a', 'RUNNING'), of('b', 'PENDING'), of('c', 'PENDING'), of('d', 'PENDING')]
    const by = (rule: TriggerRule) =>
      explain(facts({ task: blocked, blockers: { kind: 'dependencies', count: 12, tasks, rule } }))
    const named = 'It waits for 12 dependencies: a RUNNING, b PENDING, c PENDING, and 9 more.'
    expect(by('all_succeeded').summary).toBe(named)
    expect(by('one_succeeded').summary).toBe(
      `${named} By its trigger rule one_succeeded it runs as soon as one has succeeded.`,
    )
    expect(by('all_done').causes[0]).toMatchObject({ blockerCount: 12, triggerRule: 'all_done' })
  })
})
