import type {
  AttemptFacts,
  EndFacts,
  ExplainFacts,
  LaneFacts,
  RunningFacts,
  TaskFacts,
  WorkerFacts,
} from '../explain/index.js'

/** The instant of every explanation in tests, epoch ms. */
export const nowMs = Date.UTC(2026, 3, 3, 10)

export const uuid = '01a22897-5adc-700f-9efd-267978275482'

const task: TaskFacts = {
  ...{ status: 'PENDING', tenant: 'acme', taskType: 'send', queue: 'mail', priority: 2, gate: '' },
  ...{
    dueAtMs: null,
    readyAtMs: nowMs - 1_000,
    expiresAtMs: null,
    attempt: 0,
    failures: 0,
    crashes: 0,
    undelivered: 0,
  },
  ...{ snoozes: 0, maxRetries: 3, backoff: 'exponential', jitter: 'full', lastAttempt: null, lastLoss: null },
  ...{ running: null, progress: null, end: null },
}

/** One fitting worker of ten slots, none of which is taken. */
export const workers: WorkerFacts = {
  ...{ live: 1, forQueue: 1, fitting: 1, draining: 0, ofOtherTenants: 0, slots: 10, running: 0 },
  ...{ oldestStartedAtMs: null, withSuspect: 0, near: [] },
}

/** The first of a lane that has no other beside it. */
export const lane: LaneFacts = {
  ...{ ahead: 0, isAheadExact: true, depth: 1, priorities: [2], tenants: 1, gates: 1 },
  ...{ starts: 0, startsOf: 'queue', windowMs: 300_000 },
}

export const attempt = (over: Partial<AttemptFacts> = {}): AttemptFacts => ({
  ...{ attempt: 1, outcome: 'failed', endedAtMs: nowMs - 1_000, workerName: 'mailer', delayMs: null },
  ...{ isDelayWished: null, error: { class: 'SmtpError', message: 'no\nroute' } },
  ...over,
})

export const run = (over: Partial<RunningFacts> = {}): RunningFacts => ({
  ...{ workerId: uuid, workerName: 'mailer', startedAtMs: nowMs - 12_000, deadlineAtMs: nowMs + 288_000 },
  ...{ endsAtMs: nowMs + 294_000, cancelRequestedAtMs: null, cancelReason: null, isAcknowledged: true },
  ...{ isLeaseLive: true, isDraining: false, lastHeartbeatAtMs: nowMs - 2_000, heartbeatMs: 5_000 },
  ...over,
})

export const end = (over: Partial<EndFacts> = {}): EndFacts => ({
  ...{ completedAtMs: nowMs - 180_000, startedAtMs: nowMs - 181_200, workerId: uuid, workerName: 'mailer' },
  ...{ reason: null, error: null, actor: null, isDeadLetter: false, discardedAtMs: null, discardActor: null },
  ...over,
})

type Over = Partial<Omit<ExplainFacts, 'task'>> & { readonly task?: Partial<TaskFacts> }

/** A task that is about to start, unless said otherwise; what else stands around it goes with its status. */
export function facts({ task: over = {}, ...around }: Over = {}): ExplainFacts {
  const made = { ...task, ...over }
  const waits = ['SCHEDULED', 'PENDING', 'BLOCKED', 'RETRYING'].includes(made.status)
  return {
    ...{ nowMs, maxCrashes: 3, task: made, queue: { isPaused: false, pausedAtMs: null } },
    schedulers: { live: 1, lastSeenAtMs: nowMs },
    workers: waits ? workers : null,
    lane: made.status === 'PENDING' ? lane : null,
    blockers: null,
    ...around,
  }
}
