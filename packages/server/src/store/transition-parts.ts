import { byKey } from './database.js'
import { countLetters } from './dead-letter-sql.js'

/*
 * What several transitions write beside their own row, as parts of their statements: one transition is one statement (I1), and what a
 * part stands for is said here alone.
 */

/**
 * Adds to the depths of lanes. `changes` is a select of queue, priority, tenant, gate, slot and by how much, one row a lane and in the
 * order of the lanes: writers that share a slot would wait for each other crosswise otherwise.
 */
export const addDepths = (changes: string): string => `
  insert into counters (queue, priority, tenant, gate, slot, depth)
  ${changes}
  on conflict (queue, priority, tenant, gate, slot) do update set depth = counters.depth + excluded.depth`

/** Counts those of the rows that are PENDING into their lanes, or out of them (`-`), at the counters' slot of the writer. */
export const countPending = (rows: string, sign: '' | '-', slot: string): string =>
  addDepths(`
  select r.queue, r.priority, r.tenant, r.gate, ${slot}::integer, ${sign}count(*) from ${rows} r where r.status = 'PENDING'
  group by 1, 2, 3, 4 order by 1, 2, 3, 4`)

/** How a task ends that waits; each an expression over the open rows that went, which are `gone`. */
export interface WaitingEndParts {
  readonly transition: string
  /** The status that it ends in. CANCELLED by default. */
  readonly final?: string
  readonly actor: string
  readonly reason: string
  /** The reason in the trail, if it is another one. */
  readonly trailReason?: string
  readonly slot: string
}

/** What the end of waiting tasks leaves: the outcome (an attempt is none of it), the event, and lanes with fewer tasks. */
export const waitingEnd = ({
  transition,
  final = `'CANCELLED'`,
  actor,
  reason,
  trailReason = reason,
  slot,
}: WaitingEndParts): string => `
outcome as (
  insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run, reason)
  select id, ${final}, now(), attempt, failures, crashes, undelivered, snoozes, releases, run, ${reason} from gone
),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, actor, reason)
  select id, now(), ${transition}, status, ${final}, ${actor}, ${trailReason} from gone
),
counted as (${countPending('gone', '-', slot)})`

/** The mark of a cancellation on a running attempt. Its grace begins at once, so that the watchdog ends what ignores the signal. */
export const cancelMark = (reason: string, graceMs: string): string => `
  cancel_requested_at = now(), cancel_reason = ${reason},
  wake_at = least(o.wake_at, now() + ${graceMs}::bigint * interval '1 millisecond')`

/** Says of attempts that were marked who wants them cancelled. */
export const cancelRequested = (rows: string, actor: string, reason: string): string => `
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select r.id, now(), 'request_cancel', 'RUNNING', 'RUNNING', r.attempt, ${actor}, ${reason} from ${rows} r`

/**
 * What is done with outcomes that a replay took back, which are `gone`: the run is kept as a past one, a dead letter goes and is counted
 * out, and the trail says where the task stands next. `next` and `reason` are expressions over `gone`.
 */
export const takenBack = ({
  next,
  actor,
  reason,
  slot,
}: {
  readonly next: string
  readonly actor: string
  readonly reason: string
  readonly slot: string
}): string => `
archived as (
  insert into runs (task_id, run, archived_at, status, completed_at, started_at, attempt, failures, crashes, session,
    worker_name, reason, error_class, error_message, error_stack, result)
  select id, run, now(), status, completed_at, started_at, attempt, failures, crashes, session, worker_name, reason,
    error_class, error_message, error_stack, result
  from gone
),
buried as (
  delete from dead_letters d using gone g where ${byKey('d.task_id', 'g.id')}
  returning d.tenant, d.queue, d.task_type, d.fingerprint
),
letters_counted as (${countLetters('buried', '-', slot)}),
event as (
  insert into task_events (task_id, at, transition, from_status, to_status, attempt, actor, reason)
  select id, now(), 'replay', status, ${next}, null, ${actor}, ${reason} from gone
)`
