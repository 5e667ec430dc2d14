import { isAllowed, type TaskStatus, type TransitionName, transitions, type Uuid } from '@duly/domain'
import { expect } from 'vitest'
import { invariants } from '../../../../tests/chaos/checker/invariants.js'
import type { TestNode } from './test-node.js'

/** Rules about instants, which tests break on purpose when they move time by hand. */
const aboutTime = /past (its|their) |running task|does not run backwards/

/** Asks the invariants of a store at rest: one place for every task, counters equal to the waiting rows, and so on. */
export async function expectSound(node: TestNode, only = /./): Promise<void> {
  const asked = invariants.filter(({ name }) => !aboutTime.test(name) && only.test(name))
  const parts = asked.map(({ sql }, n) => `(select ${n} as rule, v.subject::text, v.detail from (${sql}) as v limit 5)`)
  const found = await node.query<{ rule: number }>(parts.join(' union all '))
  expect(found.map(({ rule, ...row }) => ({ rule: asked[rule]?.name, ...row }))).toEqual([])
}

const tablesOf = {
  open_tasks: 'id',
  outcomes: 'id',
  failed_attempts: 'task_id',
  task_events: 'task_id',
  runs: 'task_id',
  dead_letters: 'task_id',
} as const

const wholeState = `select ${Object.entries(tablesOf)
  .map(([table, id]) => `(select jsonb_agg(r order by r::text) from ${table} r where ${id} = $1) as ${table}`)
  .join(', ')}, (select jsonb_agg(r) from (
    select queue, priority, tenant, gate, sum(depth) as depth from counters group by 1, 2, 3, 4 order by 1, 2, 3, 4) r) as depth,
  (select jsonb_agg(r) from (
    select tenant, queue, task_type, fingerprint, sum(letters) as letters from dead_letter_counts group by 1, 2, 3, 4 order by 1, 2, 3, 4) r)
    as letters`

/** Everything that the store holds about a task, whole rows, the depth of all lanes and the counts of dead letters: the same after what must not land. */
export async function wholeStateOf(node: TestNode, id: Uuid): Promise<Record<string, unknown>> {
  const [state] = await node.query(wholeState, [id])
  return state ?? {}
}

/** A task's open row. */
export interface OpenRow {
  readonly status: TaskStatus
  readonly attempt: number
  readonly failures: number
  readonly crashes: number
  readonly undelivered: number
  readonly snoozes: number
  readonly releases: number
  readonly run: number
  readonly gate: string
  readonly session: Uuid | null
  readonly marked: boolean
  /** From now until due, ms; null: not due at an instant. */
  readonly dueInMs: number | null
}

/** The open row, or undefined when the task has ended. */
export async function openRow(node: TestNode, id: Uuid): Promise<OpenRow | undefined> {
  const [row] = await node.query<OpenRow>(
    `select status, attempt, failures, crashes, undelivered, snoozes, releases, run, gate, session,
       cancel_requested_at is not null as marked, extract(epoch from due_at - now())::float8 * 1000 as "dueInMs"
     from open_tasks where id = $1`,
    [id],
  )
  return row
}

export async function statusOf(node: TestNode, id: Uuid): Promise<TaskStatus> {
  return (await node.tasks.get(id, null)).status
}

/** The whole trail as `transition from>to @attempt actor`, without the id in the actor's name. */
export async function wholeTrailOf(node: TestNode, id: Uuid): Promise<string[]> {
  return (await node.tasks.events(id, null)).map(
    ({ transition, fromStatus, toStatus, attempt, actor }) =>
      `${transition} ${fromStatus ?? ''}>${toStatus} @${attempt ?? '-'} ${actor.replace(/[-:].*/, '')}`,
  )
}

/** Of the trail what was written down, without what is derived from timestamps. */
export async function trailOf(node: TestNode, id: Uuid): Promise<string[]> {
  const leavesTrail = (step: string) => transitions[step.split(' ')[0] as TransitionName].leavesTrail
  return (await wholeTrailOf(node, id)).filter(leavesTrail)
}

/**
 * The trail is a chain: each step begins where the one before ended, the table of transitions knows it, time does not run
 * backwards, each attempt was claimed once, and the end is where the task stands.
 */
export async function expectChained(node: TestNode, id: Uuid): Promise<void> {
  const events = await node.tasks.events(id, null)
  for (const [place, { transition, fromStatus, toStatus, at }] of events.entries()) {
    const before = events[place - 1]
    expect(fromStatus).toBe(before?.toStatus ?? null)
    expect(at).toBeGreaterThanOrEqual(before?.at ?? 0)
    expect(isAllowed(transition as TransitionName, fromStatus, toStatus)).toBe(true)
  }
  const claims = events.filter(({ transition }) => transition === 'claim').map(({ attempt }) => attempt)
  expect(claims).toEqual(claims.map((_, place) => place + 1))
  expect(events.at(-1)?.toStatus).toBe(await statusOf(node, id))
}

/** Each attempt as `number outcome`. */
export async function attemptsOf(node: TestNode, id: Uuid): Promise<string[]> {
  return (await node.tasks.attempts(id, null)).map(({ attempt, outcome }) => `${attempt} ${outcome}`)
}
