import type { ErrorContext } from './options.js'

/** What a worker emits. */
export interface WorkerEvents {
  /** A session began: at the start, and after each one that was lost. */
  registered: [workerId: string]
  /**
   * The session is over: the server gave it up (no heartbeat arrived in time, or it was ended there), or refuses its key and
   * the lease has run out. Its handlers are aborted, and the worker registers anew as soon as it can.
   */
  session_lost: [workerId: string, reason: string]
  /** The server refuses the key (401, 403) while the session lives; what that means for what runs, in one sentence. */
  denied: [message: string]
  /** A handler ignores its signal past the grace; its slot stays taken until its code ends. */
  stuck: [attempt: ErrorContext]
  /** As many slots as `maxStuck` are taken by stuck handlers: time to restart the process. */
  too_many_stuck: [slots: number]
  /** The server did not take an outcome, e.g. `lease_lost`: another attempt's stands. */
  refused: [taskId: string, code: string]
  /** The server can't be reached, or answers with nothing to work with; said once, in one sentence with address and reason. */
  outage: [message: string]
  /** The server answers again. */
  recovered: [message: string]
  /** The server told it to finish what it holds and leave: it stops by itself. */
  drained: [workerId: string]
  stopped: [summary: StopSummary]
}

/** What a stop left behind. */
export interface StopSummary {
  /** Everything was finished or given back, and the server knows. */
  readonly isClean: boolean
  /** Outcomes that the server did not take in time; their tasks run again when the session's lease is over. */
  readonly unreported: number
  /** Handlers whose code still runs. */
  readonly stuck: number
}
