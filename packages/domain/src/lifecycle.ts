import type { TaskStatus } from './statuses.js'

/** Who may cause a transition. `dependency` is the end of a task that others wait for. */
export const actors = ['api', 'cron', 'workflow', 'timer', 'dispatcher', 'worker', 'watchdog', 'dependency'] as const
/** Who caused a transition. */
export type Actor = (typeof actors)[number]

/** One row of the table of transitions. */
export interface Transition {
  readonly from: readonly TaskStatus[]
  readonly to: readonly TaskStatus[]
  readonly by: readonly Actor[]
  /** The compare-and-set also compares the lease (session, attempt, token) that the caller read (I4). */
  readonly fenced: boolean
  /** Needs the mark that `request_cancel` leaves. */
  readonly onlyWhenMarked: boolean
  /** From RUNNING with that mark it ends CANCELLED instead, with the cause in its event. */
  readonly endsCancelledWhenMarked: boolean
  /** Raises `failures`, which `max_retries` limits. */
  readonly raisesFailures: boolean
  /** Writes an event row with actor and reason; without it the trail is derived from the task's timestamps. */
  readonly leavesTrail: boolean
  /** Each task keeps its status: `to` is the same as `from`, one by one. */
  readonly keepsStatus: boolean
  /** The reason that an outcome of this transition carries. */
  readonly reason: 'expired' | 'skipped' | 'dependency' | null
  readonly doc: string
}

const plain = {
  fenced: false,
  onlyWhenMarked: false,
  endsCancelledWhenMarked: false,
  raisesFailures: false,
  leavesTrail: true,
  keepsStatus: false,
  reason: null,
} as const

const fromRunning = { ...plain, from: ['RUNNING'], fenced: true } as const

/**
 * The one table of transitions. Types, SQL guards, docs/reference/task-states.md and the tests are derived from it. A transition is
 * one compare-and-set whose row count says whether it happened.
 */
export const transitions = {
  submit: {
    ...plain,
    from: [],
    to: ['PENDING', 'SCHEDULED', 'BLOCKED', 'RUNNING'],
    by: ['api', 'cron', 'workflow'],
    leavesTrail: false,
    doc: 'A task comes into being; RUNNING by direct hand-off, while the answer still says PENDING.',
  },
  promote: {
    ...plain,
    from: ['SCHEDULED', 'RETRYING'],
    to: ['PENDING'],
    by: ['timer'],
    leavesTrail: false,
    doc: "Its time has come, by the store's clock.",
  },
  unblock: {
    ...plain,
    from: ['BLOCKED'],
    to: ['PENDING', 'SCHEDULED'],
    by: ['dependency'],
    leavesTrail: false,
    doc: 'The last dependency was met; SCHEDULED if the node has a delay of its own.',
  },
  claim: {
    ...plain,
    from: ['PENDING', 'SCHEDULED', 'RETRYING'],
    to: ['RUNNING'],
    by: ['dispatcher'],
    leavesTrail: false,
    doc: 'Given to a worker with a lease; from SCHEDULED or RETRYING only when due, by direct hand-off.',
  },
  reschedule: {
    ...plain,
    from: ['SCHEDULED', 'PENDING'],
    to: ['SCHEDULED', 'PENDING'],
    by: ['api'],
    doc: 'Its time was edited, perhaps other fields with it.',
  },
  edit: {
    ...plain,
    from: ['SCHEDULED', 'PENDING', 'BLOCKED', 'RETRYING'],
    to: ['SCHEDULED', 'PENDING', 'BLOCKED', 'RETRYING'],
    keepsStatus: true,
    by: ['api'],
    doc: 'Other fields were edited; it stays in its state, and enters another lane if queue or priority changed.',
  },
  succeed: {
    ...fromRunning,
    to: ['SUCCEEDED'],
    by: ['worker'],
    leavesTrail: false,
    doc: 'The handler returned. Stands also when marked, if it arrives first.',
  },
  fail: {
    ...fromRunning,
    to: ['FAILED'],
    by: ['worker'],
    doc: 'A permanent error. Stands also when marked, if it arrives first.',
  },
  retry: {
    ...fromRunning,
    to: ['RETRYING'],
    by: ['worker'],
    endsCancelledWhenMarked: true,
    raisesFailures: true,
    doc: 'A transient error with retries left.',
  },
  exhaust: {
    ...fromRunning,
    to: ['DEAD'],
    by: ['worker', 'watchdog'],
    endsCancelledWhenMarked: true,
    raisesFailures: true,
    doc: 'A transient error with no retries left, or a snooze too many.',
  },
  snooze: {
    ...fromRunning,
    to: ['SCHEDULED'],
    by: ['worker'],
    endsCancelledWhenMarked: true,
    doc: 'The handler asked to be called again later; counted apart from failures.',
  },
  release: {
    ...fromRunning,
    to: ['PENDING'],
    by: ['worker', 'dispatcher'],
    endsCancelledWhenMarked: true,
    doc: 'Given back unfinished by a worker that shuts down, or unfetched by one that does not poll.',
  },
  lose: {
    ...fromRunning,
    to: ['PENDING', 'DEAD'],
    by: ['watchdog'],
    endsCancelledWhenMarked: true,
    doc: 'The session that held it is dead; DEAD at `max_crashes`.',
  },
  time_out: {
    ...fromRunning,
    to: ['RETRYING', 'DEAD'],
    by: ['worker', 'watchdog'],
    endsCancelledWhenMarked: true,
    raisesFailures: true,
    doc: 'Past its time limit: the worker says so, or the watchdog after the grace; DEAD when no retries are left.',
  },
  cancel: {
    ...plain,
    from: ['SCHEDULED', 'PENDING', 'BLOCKED', 'RETRYING'],
    to: ['CANCELLED'],
    by: ['api', 'cron', 'workflow'],
    doc: 'Cancelled while it waited.',
  },
  request_cancel: {
    ...plain,
    from: ['RUNNING'],
    to: ['RUNNING'],
    by: ['api', 'cron', 'workflow'],
    doc: 'Marked; the worker is told at once.',
  },
  stop: {
    ...fromRunning,
    to: ['CANCELLED'],
    by: ['worker', 'watchdog'],
    onlyWhenMarked: true,
    doc: 'The worker obeyed the mark, or the grace after it is over.',
  },
  expire: {
    ...plain,
    from: ['SCHEDULED', 'PENDING', 'BLOCKED'],
    to: ['CANCELLED'],
    by: ['timer', 'dispatcher'],
    reason: 'expired',
    doc: 'Not started by `expires_at`; only while attempt is 0.',
  },
  skip: {
    ...plain,
    from: ['BLOCKED'],
    to: ['CANCELLED'],
    by: ['dependency'],
    reason: 'skipped',
    doc: 'Its trigger rule says that it is not needed.',
  },
  upstream_fail: {
    ...plain,
    from: ['BLOCKED'],
    to: ['FAILED'],
    by: ['dependency'],
    reason: 'dependency',
    doc: 'Its trigger rule can no longer be met.',
  },
  replay: {
    ...plain,
    from: ['FAILED', 'DEAD', 'CANCELLED'],
    to: ['PENDING', 'BLOCKED'],
    by: ['api'],
    doc: 'Run again under the same id, failures and crashes at 0; BLOCKED by a workflow retry, blockers recounted.',
  },
  discard: {
    ...plain,
    from: ['DEAD'],
    to: ['DEAD'],
    by: ['api'],
    doc: 'Leaves the dead letters; the record stays, marked.',
  },
} as const satisfies Record<string, Transition>

/** The name of a transition; the store's methods are named so. */
export type TransitionName = keyof typeof transitions

/** All transitions in the order of the table. */
export const transitionNames = Object.keys(transitions) as readonly TransitionName[]

/** A transition that changes a task which exists already: every one but submit. */
export type GuardedTransition = Exclude<TransitionName, 'submit'>

/** The statuses that the transition may start from; none for submit. */
export function allowedFrom(name: TransitionName): readonly TaskStatus[] {
  return transitions[name].from
}

/** The statuses that the transition may end in, CANCELLED included where a marked task ends so. */
function allowedTo(name: TransitionName): readonly TaskStatus[] {
  const { to, endsCancelledWhenMarked }: Transition = transitions[name]
  return endsCancelledWhenMarked ? [...to, 'CANCELLED'] : to
}

/** Whether the table knows this step; `from` is null for a task that does not exist yet. */
export function isAllowed(name: TransitionName, from: TaskStatus | null, to: TaskStatus): boolean {
  const starts = allowedFrom(name)
  const fits = from === null ? starts.length === 0 : starts.includes(from)
  return fits && allowedTo(name).includes(to)
}

/**
 * The SQL condition that a compare-and-set of this transition must contain, e.g. `status in ('SCHEDULED','PENDING')`. Made of
 * constants only. Conditions beside the status (fence, mark, due, attempt 0) are the statement's own.
 *
 * @param column a plain column name of ours, optionally with the table's alias; never user data.
 */
export function statusGuard(name: GuardedTransition, column = 'status'): string {
  if (!/^[a-z_]+(\.[a-z_]+)?$/.test(column)) throw new RangeError(`not a plain column name: ${column}`)
  const list = allowedFrom(name).map((status) => `'${status}'`)
  return list.length === 1 ? `${column} = ${list[0]}` : `${column} in (${list.join(',')})`
}
