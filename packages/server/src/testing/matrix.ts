import { decodeLease, type GuardedTransition, isAllowed, type TaskStatus } from '@duly/domain'
import { expect } from 'vitest'
import type { Finish } from '../store/attempt-store.js'
import { attemptsOf, openRow, statusOf, trailOf, wholeStateOf } from './facts.js'
import { type Life, mark, passDeadline, passDue, say, silence, watch, words } from './lives.js'
import type { TestNode } from './test-node.js'

export const placeNames = [
  ...(['SCHEDULED', 'PENDING', 'BLOCKED', 'RUNNING', 'RUNNING, marked', 'RETRYING'] as const),
  ...(['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED'] as const),
] as const

/** Where a task can be. */
export type Place = (typeof placeNames)[number]

/** Brings a running task to each place; all have run before or run now, so that there is a lease to misuse. */
export type Places = Readonly<Record<Place, (life: Life) => Promise<unknown>>>

/** One caller of a transition: what must be so before, and the step itself. */
export interface Step {
  readonly given?: (life: Life) => Promise<unknown>
  readonly step: (life: Life) => Promise<unknown>
}

/** Every transition that has a caller, and a purge, which is a way to cancel. */
export type Steps = Partial<Record<GuardedTransition | 'purge', Step>>

/** A matrix of steps from places. */
export interface Matrix {
  readonly node: TestNode
  readonly start: () => Promise<Life>
  readonly places: Places
  readonly steps: Steps
  /** By `step PLACE` where it leads: state, the counts that changed, the attempt's record, the event. What is not named lands nowhere. */
  readonly landings: Readonly<Record<string, string>>
}

/** The places of a task by itself. */
export function placesOf(node: TestNode): Places {
  return {
    SCHEDULED: (life) => say(node, life, words.snooze),
    PENDING: (life) => say(node, life, words.release),
    BLOCKED: async (life) => {
      await say(node, life, words.snooze)
      await node.query(`update open_tasks set status = 'BLOCKED', blockers = 1 where id = $1`, [life.id])
    },
    RUNNING: async () => undefined,
    'RUNNING, marked': (life) => mark(node, life.id),
    RETRYING: (life) => say(node, life, words.retry),
    SUCCEEDED: (life) => say(node, life, words.succeed),
    FAILED: (life) => say(node, life, words.fail),
    DEAD: async (life) => {
      await node.query('update tasks set max_retries = 0 where id = $1', [life.id])
      await say(node, life, words.retry)
    },
    CANCELLED: async (life) => {
      await mark(node, life.id)
      await say(node, life, words.stop)
    },
  }
}

const api = 'api:tester'

/** The steps of a task by itself. */
export function stepsOf(node: TestNode): Steps {
  const { stores } = node
  return {
    promote: {
      given: ({ id }) => passDue(node, id),
      step: ({ id }) => stores.timers.promote([{ id, handoff: null, epoch: 1 }]),
    },
    unblock: {
      // waits for an older task of its recurring task, as far as the row says
      given: ({ id }) => node.query('update open_tasks set cron_id = id where id = $1', [id]),
      step: ({ id }) => stores.firings.unblock([id], 10),
    },
    claim: { step: async ({ queue }) => node.claim(await node.worker({ queues: [queue] }), 1, { queue }) },
    succeed: { step: (life) => say(node, life, words.succeed) },
    fail: { step: (life) => say(node, life, words.fail) },
    retry: { step: (life) => say(node, life, words.retry) },
    exhaust: {
      given: ({ id }) => node.query('update tasks set max_retries = 0 where id = $1', [id]),
      step: (life) => say(node, life, words.retry),
    },
    snooze: { step: (life) => say(node, life, words.snooze) },
    release: { step: (life) => say(node, life, words.release) },
    lose: { given: ({ worker }) => silence(node, worker), step: () => watch(node) },
    time_out: { given: ({ id }) => overdue(node, id), step: () => watch(node) },
    stop: { step: (life) => stores.attempts.finish([stopOf(life)]) },
    cancel: { step: ({ id }) => stores.tasks.cancelWaiting(id, null, { actor: api, reason: 'cancelled' }) },
    request_cancel: {
      step: ({ id }) => stores.tasks.requestCancel(id, null, { actor: api, reason: 'cancel_requested' }),
    },
    expire: {
      given: ({ id }) => passExpiry(node, id),
      step: ({ id }) => stores.timers.expire([{ id, epoch: 1 }]),
    },
    reschedule: {
      step: ({ id }) => stores.edits.edit(id, null, { edit: { scheduledAtMs: Date.now() + 3_600_000 }, actor: api }),
    },
    edit: { step: ({ id }) => stores.edits.edit(id, null, { edit: { priority: 1 }, actor: api }) },
    replay: { step: ({ id }) => stores.tasks.replay(id, null, api) },
    discard: { step: ({ id }) => stores.deadLetters.discard([id], null, { actor: api, reason: null }) },
  }
}

async function overdue(node: TestNode, id: string): Promise<void> {
  const [row] = await node.query<{ status: string }>('select status from open_tasks where id = $1', [id])
  if (row?.status === 'RUNNING') await passDeadline(node, id)
  else if (row) await passDue(node, id)
}

/** It was to start before an instant that has passed, and never did, as far as the row says. */
export async function passExpiry(node: TestNode, id: string): Promise<void> {
  await node.query(
    `update open_tasks set expires_at = now() - interval '1 s', attempt = case status when 'RUNNING' then attempt else 0 end
     where id = $1`,
    [id],
  )
}

/** The write of a stop itself, whoever asks for it: unmarked it must not land. */
export function stopOf({ id, worker, lease }: Life): Finish {
  const { attempt, token } = decodeLease(lease) ?? { attempt: 0, token: 0n }
  const fence = { id, session: worker.row.id, attempt, token }
  const counts = { failures: null, crashes: null, undelivered: null }
  const who = { actor: 'worker', workerName: null, reason: null, error: null }
  const how = { condition: 'none', transition: 'stop', attemptOutcome: 'cancelled' } as const
  return { fence, ...how, ...who, ...counts, status: 'CANCELLED', result: null }
}

/** Where the steps of a task by itself lead, written by hand from the behaviour. */
export const landingsOfTasks: Readonly<Record<string, string>> = {
  'promote SCHEDULED': 'PENDING snoozes=1 | 1 snoozed |',
  'promote RETRYING': 'PENDING failures=1 | 1 failed |',
  'unblock BLOCKED': 'PENDING snoozes=1 | 1 snoozed |',
  'claim PENDING': 'RUNNING attempt=2 releases=1 | 1 released, 2 running |',
  'succeed RUNNING': 'SUCCEEDED | 1 succeeded |',
  'fail RUNNING': 'FAILED | 1 failed | fail RUNNING>FAILED @1 worker',
  'retry RUNNING': 'RETRYING failures=1 | 1 failed | retry RUNNING>RETRYING @1 worker',
  'exhaust RUNNING': 'DEAD failures=1 | 1 failed | exhaust RUNNING>DEAD @1 worker',
  'snooze RUNNING': 'SCHEDULED snoozes=1 | 1 snoozed | snooze RUNNING>SCHEDULED @1 worker',
  'release RUNNING': 'PENDING releases=1 | 1 released | release RUNNING>PENDING @1 worker',
  'lose RUNNING': 'PENDING crashes=1 gate=!suspect | 1 lost | lose RUNNING>PENDING @1 watchdog',
  'time_out RUNNING': 'RETRYING failures=1 | 1 timed_out | time_out RUNNING>RETRYING @1 watchdog',
  'request_cancel RUNNING': 'RUNNING marked | 1 running | request_cancel RUNNING>RUNNING @1 api',
  'succeed RUNNING, marked': 'SUCCEEDED | 1 succeeded |',
  'fail RUNNING, marked': 'FAILED | 1 failed | fail RUNNING>FAILED @1 worker',
  'retry RUNNING, marked': 'CANCELLED failures=1 | 1 failed | retry RUNNING>CANCELLED @1 worker',
  'exhaust RUNNING, marked': 'CANCELLED failures=1 | 1 failed | exhaust RUNNING>CANCELLED @1 worker',
  'snooze RUNNING, marked': 'CANCELLED snoozes=0 | 1 snoozed | snooze RUNNING>CANCELLED @1 worker',
  'release RUNNING, marked': 'CANCELLED releases=0 | 1 released | release RUNNING>CANCELLED @1 worker',
  'lose RUNNING, marked': 'CANCELLED crashes=1 | 1 lost | lose RUNNING>CANCELLED @1 watchdog',
  // past its deadline, but marked: the watchdog stops it
  'time_out RUNNING, marked': 'CANCELLED | 1 cancelled | stop RUNNING>CANCELLED @1 watchdog',
  'stop RUNNING, marked': 'CANCELLED | 1 cancelled | stop RUNNING>CANCELLED @1 worker',
  'cancel SCHEDULED': 'CANCELLED snoozes=1 | 1 snoozed | cancel SCHEDULED>CANCELLED @- api',
  'cancel PENDING': 'CANCELLED releases=1 | 1 released | cancel PENDING>CANCELLED @- api',
  'cancel BLOCKED': 'CANCELLED snoozes=1 | 1 snoozed | cancel BLOCKED>CANCELLED @- api',
  'cancel RETRYING': 'CANCELLED failures=1 | 1 failed | cancel RETRYING>CANCELLED @- api',
  'expire SCHEDULED': 'CANCELLED attempt=0 snoozes=1 | 1 snoozed | expire SCHEDULED>CANCELLED @- timer',
  'expire PENDING': 'CANCELLED attempt=0 releases=1 | 1 released | expire PENDING>CANCELLED @- timer',
  'expire BLOCKED': 'CANCELLED attempt=0 snoozes=1 | 1 snoozed | expire BLOCKED>CANCELLED @- timer',
  'reschedule SCHEDULED': 'SCHEDULED snoozes=1 | 1 snoozed | reschedule SCHEDULED>SCHEDULED @- api',
  'reschedule PENDING': 'SCHEDULED releases=1 | 1 released | reschedule PENDING>SCHEDULED @- api',
  'edit SCHEDULED': 'SCHEDULED snoozes=1 | 1 snoozed | edit SCHEDULED>SCHEDULED @- api',
  'edit PENDING': 'PENDING releases=1 | 1 released | edit PENDING>PENDING @- api',
  'edit BLOCKED': 'BLOCKED snoozes=1 | 1 snoozed | edit BLOCKED>BLOCKED @- api',
  'edit RETRYING': 'RETRYING failures=1 | 1 failed | edit RETRYING>RETRYING @- api',
  'replay FAILED': 'PENDING run=2 | 1 failed | replay FAILED>PENDING @- api',
  'replay DEAD': 'PENDING run=2 | 1 failed | replay DEAD>PENDING @- api',
  'replay CANCELLED': 'PENDING run=2 | 1 cancelled | replay CANCELLED>PENDING @- api',
  'discard DEAD': 'DEAD failures=1 | 1 failed | discard DEAD>DEAD @- api',
}

/** What a landing text says, read from the store. Only the last event is told: the ones before made the place. */
async function landingOf(
  node: TestNode,
  { id }: Life,
  { eventsBefore, expected }: { readonly eventsBefore: number; readonly expected: string },
): Promise<string> {
  const row: Record<string, unknown> = { ...((await openRow(node, id)) ?? (await outcomeRow(node, id))) }
  const wanted = (expected.split(' | ')[0] ?? '').split(' ').slice(1)
  const told = wanted.map((part) =>
    part === 'marked' ? (row.marked ? part : 'unmarked') : `${part.split('=')[0]}=${row[part.split('=')[0] ?? '']}`,
  )
  const events = (await trailOf(node, id)).slice(eventsBefore)
  return `${[row.status, ...told].join(' ')} | ${(await attemptsOf(node, id)).join(', ')} | ${events.join('; ')}`.trimEnd()
}

async function outcomeRow(node: TestNode, id: string): Promise<Record<string, unknown>> {
  const [row] = await node.query('select * from outcomes where id = $1', [id])
  return row ?? {}
}

/** The transition that a step is. */
const transitionOf = (step: keyof Steps): GuardedTransition => (step === 'purge' ? 'cancel' : step)

/** The names of the steps. */
export const namesOf = (steps: Steps): (keyof Steps)[] => Object.keys(steps) as (keyof Steps)[]

/** Takes a step from a place: it leads to where the landing says, or changes nothing at all. */
export async function expectLanding(
  { node, start, places, steps, landings }: Matrix,
  name: keyof Steps,
  place: Place,
): Promise<void> {
  const { given, step } = steps[name] as Step
  const life = await start()
  await places[place](life)
  await given?.(life)
  const before = await wholeStateOf(node, life.id)
  const eventsBefore = (await trailOf(node, life.id)).length
  await step(life)
  const expected = landings[`${name} ${place}`]
  if (expected === undefined) expect(await wholeStateOf(node, life.id)).toEqual(before)
  else expect(await landingOf(node, life, { eventsBefore, expected })).toBe(expected)
  // what the table forbids is not expected by hand either
  const from = place.split(',')[0] as TaskStatus
  const ends = await statusOf(node, life.id)
  const isMarkedStop = name === 'time_out' && place === 'RUNNING, marked'
  if (expected !== undefined && !isMarkedStop) expect(isAllowed(transitionOf(name), from, ends)).toBe(true)
}

/** The steps from places that the table of transitions allows, for a task that stands there. */
export function stepsThatMayLand(steps: Steps): string[] {
  const due = new Set(['claim SCHEDULED', 'claim RETRYING']) // by direct hand-off only: see the timers
  return namesOf(steps).flatMap((name) =>
    placeNames
      .filter((place) => {
        const from = place.split(',')[0] as TaskStatus
        const mayLand = (
          ['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED', 'PENDING', 'SCHEDULED', 'RETRYING', 'RUNNING'] as const
        ).some((to) => isAllowed(transitionOf(name), from, to))
        const needsMark = name === 'stop' && place === 'RUNNING'
        const isMarkedAgain = name === 'request_cancel' && place === 'RUNNING, marked'
        // a purge takes what is ready alone
        const isSpared = name === 'purge' && place !== 'PENDING'
        return mayLand && !needsMark && !isMarkedAgain && !isSpared && !due.has(`${name} ${place}`)
      })
      .map((place) => `${name} ${place}`),
  )
}
