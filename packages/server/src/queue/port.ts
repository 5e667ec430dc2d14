import type { Lane, Priority, Uuid } from '@duly/domain'
import type { JsonText } from '../model.js'

/** So many of the earliest tasks of one lane, for these sessions: one entry of `sessions` a task, in claim order. */
export interface LaneTake {
  readonly lane: Lane
  readonly sessions: readonly Uuid[]
  /** Nothing ready before this instant was left when the lane was last read (epoch ms); 0: look from the start. */
  readonly fromMs: number
}

/** What one take asks for. */
export interface TakeRequest {
  readonly takes: readonly LaneTake[]
  /** Only tasks of these types; null: all. */
  readonly taskTypes: readonly string[] | null
  /** Random 62-bit base of the fences of this take. */
  readonly token: bigint
}

/** A task that now runs under a lease of `session`. Instants are epoch ms of the store. */
export interface TakenTask {
  readonly id: Uuid
  readonly session: Uuid
  readonly grant: number
  readonly attempt: number
  readonly token: bigint
  readonly failures: number
  /** Losses behind it, of any kind: a suspect. */
  readonly suspect: boolean
  readonly tenant: string
  readonly queue: string
  readonly taskType: string
  readonly priority: Priority
  readonly gate: string
  readonly payload: JsonText
  readonly metadata: JsonText | null
  readonly timeoutMs: number
  readonly deadlineAtMs: number
  readonly startedAtMs: number
  readonly readyAtMs: number
  readonly createdAtMs: number
  readonly idempotencyKey: string | null
  readonly checkpoint: JsonText | null
  readonly traceparent: string | null
  /** The recurring task that made it. */
  readonly cronId: Uuid | null
  /** When it was asked to run; of a recurring task the fire time. */
  readonly scheduledAtMs: number | null
  /** The workflow that it is a task of, and its name there. */
  readonly workflowId: Uuid | null
  readonly nodeName: string | null
}

/** A slot that is kept for a task, as a statement is told of it: the task starts with it if it is in this queue still. */
export interface HandOff {
  readonly session: Uuid
  readonly token: bigint
  readonly queue: string
}

/** What a take brought. */
export interface Take {
  readonly tasks: readonly TakenTask[]
  /**
   * Sessions that were refused what there was for them: they live no more, drain, or are served by another node. What was named
   * for them stays in its lane.
   */
  readonly refused: readonly Uuid[]
}

/** A task that became ready, as a hint for whoever keeps lanes outside PostgreSQL. */
export interface ReadyHint {
  readonly id: Uuid
  readonly lane: Lane
  readonly readyAtMs: number
  readonly laneVersion: number
}

/** What a look at some queues found. */
export interface FoundLanes {
  readonly lanes: readonly Lane[]
  readonly paused: readonly string[]
}

/**
 * The ready queue: which lanes have work, and the claim of the earliest of a lane. Selection (who gets how many) is not
 * its matter. Every implementation claims by a compare-and-set in PostgreSQL (I2): what else it keeps is a hint.
 *
 * Not promised: that `lanes` is complete at the instant of the call (a lane may be missing for at most one call after it
 * got its first task), or that a take finds as many as asked for, even when there are more (others may hold them).
 */
export interface ReadyQueue {
  /** Lanes of these queues that have ready tasks, at most `limit`; none of a paused queue, which is named instead. */
  lanes(queues: readonly string[], limit: number): Promise<FoundLanes>
  /** Tells the queue of tasks that became ready. May be lost, repeated or late. */
  push(hints: readonly ReadyHint[]): Promise<void>
  /** Claims, for the node that the queue object is of. A task is given to the session named for it. */
  take(request: TakeRequest): Promise<Take>
  /** Tells the queue of tasks that are ready no longer. */
  remove(ids: readonly Uuid[]): Promise<void>
  /**
   * Moves up to `limit` of the earliest tasks whose types are not `servedTypes` out of an ungated lane, each into the gate
   * of its type, so that what nobody serves blocks nobody. Answers how many it moved; none of a paused queue.
   */
  setAside(lane: Lane, servedTypes: readonly string[], limit: number): Promise<number>
  /** Ready tasks by lane, from counters: exact at rest. */
  depths(queue?: string): Promise<readonly { readonly lane: Lane; readonly depth: number }[]>
}
