import { decodeLease, type GuardedTransition, isAllowed, type TaskStatus } from '@duly/domain'
import { describe, expect, test } from 'vitest'
import { attemptsOf, expectSound, openRow, statusOf, trailOf, wholeStateOf } from '../testing/facts.js'
import {
  claimLife,
  type Life,
  mark,
  passDeadline,
  passDue,
  say,
  silence,
  startLife,
  watch,
  words,
} from '../testing/lives.js'
import { newTask, openTestStore } from '../testing/test-node.js'

const store = await openTestStore()
const { node } = store

/** A task in every place that it can be in; all have run before or run now, so that there is a lease to misuse. */
const places = {
  SCHEDULED: async (life: Life) => say(node, life, words.snooze),
  PENDING: async (life: Life) => say(node, life, words.release),
  BLOCKED: async (life: Life) => {
    await say(node, life, words.snooze)
    await node.query(`update open_tasks set status = 'BLOCKED', blockers = 1 where id = $1`, [life.id])
  },
  RUNNING: async () => undefined,
  'RUNNING, marked': async (life: Life) => mark(node, life.id),
  RETRYING: async (life: Life) => say(node, life, words.retry),
  SUCCEEDED: async (life: Life) => say(node, life, words.succeed),
  FAILED: async (life: Life) => say(node, life, words.fail),
  DEAD: async (life: Life) => {
    await node.query('update tasks set max_retries = 0 where id = $1', [life.id])
    await say(node, life, words.retry)
  },
  CANCELLED: async (life: Life) => {
    await mark(node, life.id)
    await say(node, life, words.stop)
  },
} as const

type Place = keyof typeof places

/** Every transition that has a caller: what must be so before, and the step itself. */
const steps: Partial<
  Record<GuardedTransition, { given?: (life: Life) => Promise<unknown>; step: (life: Life) => Promise<unknown> }>
> = {
  promote: {
    given: ({ id }) => passDue(node, id),
    step: ({ id }) => node.stores.timers.promote([{ id, handoff: null, epoch: 1 }]),
  },
  unblock: {
    // waits for an older task of its recurring task, as far as the row says
    given: ({ id }) => node.query('update open_tasks set cron_id = id where id = $1', [id]),
    step: ({ id }) => node.stores.firings.unblock([id], 10),
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
  time_out: { given: ({ id, queue }) => overdue(id, queue), step: () => watch(node) },
  stop: { step: (life) => stopByFence(life) },
  cancel: { step: ({ id }) => node.stores.tasks.cancelWaiting(id, null, { actor: 'api:tester', reason: 'cancelled' }) },
  request_cancel: {
    step: ({ id }) => node.stores.tasks.requestCancel(id, null, { actor: 'api:tester', reason: 'cancel_requested' }),
  },
  expire: {
    // a task that never started, as far as the row says
    given: ({ id }) =>
      node.query(
        `update open_tasks set expires_at = now() - interval '1 s', attempt = case status when 'RUNNING' then attempt else 0 end
         where id = $1`,
        [id],
      ),
    step: ({ id }) => node.stores.timers.expire([{ id, epoch: 1 }]),
  },
  reschedule: {
    step: ({ id }) =>
      node.stores.edits.edit(id, null, { edit: { scheduledAtMs: Date.now() + 3_600_000 }, actor: 'api:tester' }),
  },
  edit: { step: ({ id }) => node.stores.edits.edit(id, null, { edit: { priority: 1 }, actor: 'api:tester' }) },
  replay: { step: ({ id }) => node.stores.tasks.replay(id, null, 'api:tester') },
  discard: {
    step: ({ id }) => node.stores.deadLetters.discard([id], null, { actor: 'api:tester', reason: null }),
  },
}

async function overdue(id: string, _queue: string): Promise<void> {
  const [row] = await node.query<{ status: string }>('select status from open_tasks where id = $1', [id])
  if (row?.status === 'RUNNING') await passDeadline(node, id)
  else if (row) await passDue(node, id)
}

/** The write of a stop itself, whoever asks for it: unmarked it must not land. */
function stopByFence({ id, worker, lease }: Life): Promise<unknown> {
  const { attempt, token } = decodeLease(lease) ?? { attempt: 0, token: 0n }
  const fence = { id, session: worker.row.id, attempt, token }
  const counts = { failures: null, crashes: null, undelivered: null }
  const who = { actor: 'worker', workerName: null, reason: null, error: null }
  const how = { condition: 'none', transition: 'stop', attemptOutcome: 'cancelled' } as const
  return node.stores.attempts.finish([{ fence, ...how, ...who, ...counts, status: 'CANCELLED', result: null }])
}

/** Where a step leads: state, the counts that changed, the attempt's record, the event. Written by hand from the behaviour. */
const landings: Record<string, string> = {
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
async function landingOf({ id }: Life, eventsBefore: number, expected: string): Promise<string> {
  const row: Record<string, unknown> = { ...((await openRow(node, id)) ?? (await outcomeRow(id))) }
  const wanted = (expected.split(' | ')[0] ?? '').split(' ').slice(1)
  const told = wanted.map((part) =>
    part === 'marked' ? (row.marked ? part : 'unmarked') : `${part.split('=')[0]}=${row[part.split('=')[0] ?? '']}`,
  )
  const events = (await trailOf(node, id)).slice(eventsBefore)
  return `${[row.status, ...told].join(' ')} | ${(await attemptsOf(node, id)).join(', ')} | ${events.join('; ')}`.trimEnd()
}

async function outcomeRow(id: string): Promise<Record<string, unknown>> {
  const [row] = await node.query('select * from outcomes where id = $1', [id])
  return row ?? {}
}

const untouchedCounts = { failures: 0, crashes: 0, undelivered: 0, snoozes: 0, releases: 0 }

describe.each(Object.keys(steps) as GuardedTransition[])('%s', (transition) => {
  test.each(Object.keys(places) as Place[])('from %s', async (place) => {
    const { given, step } = steps[transition] ?? { step: async () => {} }
    const life = await startLife(node)
    await places[place](life)
    await given?.(life)
    const before = await wholeStateOf(node, life.id)
    const eventsBefore = (await trailOf(node, life.id)).length
    await step(life)
    const expected = landings[`${transition} ${place}`]
    if (expected === undefined) expect(await wholeStateOf(node, life.id)).toEqual(before)
    else expect(await landingOf(life, eventsBefore, expected)).toBe(expected)
    // what the table forbids is not expected by hand either, and nothing that it allows is forgotten
    const from = place.split(',')[0] as TaskStatus
    const ends = await statusOf(node, life.id)
    const isMarkedStop = transition === 'time_out' && place === 'RUNNING, marked'
    if (expected !== undefined && !isMarkedStop) expect(isAllowed(transition, from, ends)).toBe(true)
  })
})

test('the table and the hand-written landings name the same steps', () => {
  const due = new Set(['claim SCHEDULED', 'claim RETRYING']) // by direct hand-off only: see the timers
  const wanted = (Object.keys(steps) as GuardedTransition[]).flatMap((transition) =>
    (Object.keys(places) as Place[])
      .filter((place) => {
        const from = place.split(',')[0] as TaskStatus
        const mayLand = (
          ['SUCCEEDED', 'FAILED', 'DEAD', 'CANCELLED', 'PENDING', 'SCHEDULED', 'RETRYING', 'RUNNING'] as const
        ).some((to) => isAllowed(transition, from, to))
        const needsMark = transition === 'stop' && place === 'RUNNING'
        const isMarkedAgain = transition === 'request_cancel' && place === 'RUNNING, marked'
        return mayLand && !needsMark && !isMarkedAgain && !due.has(`${transition} ${place}`)
      })
      .map((place) => `${transition} ${place}`),
  )
  expect(Object.keys(landings).sort()).toEqual(wanted.sort())
})

test('through all of it each task stood in one place and was counted', () =>
  expectSound(node, /open or finished|asked for|counters|dead letters|numbered|partition/))

test('a life from its first claim to its third keeps its counts apart', async () => {
  const life = await startLife(node)
  expect(await openRow(node, life.id)).toMatchObject({ ...untouchedCounts, attempt: 1, run: 1 })
  await say(node, life, words.snooze)
  await passDue(node, life.id)
  await node.stores.timers.promote([{ id: life.id, handoff: null, epoch: 1 }])
  const second = await claimLife(node, life)
  await say(node, second, words.release)
  const third = await claimLife(node, life)
  await say(node, third, words.retry)
  expect(await openRow(node, life.id)).toMatchObject({
    ...{ ...untouchedCounts, snoozes: 1, releases: 1, failures: 1 },
    ...{ attempt: 3, run: 1, status: 'RETRYING' },
  })
  const { id } = await node.intake.submit(newTask({ queue: life.queue }))
  expect(id).not.toBe(life.id)
})
