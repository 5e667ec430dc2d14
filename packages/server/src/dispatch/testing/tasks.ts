import type { Lane } from '@duly/domain'
import type { TakenTask } from '../../queue/port.js'
import type { SessionRow } from '../../store/session-store.js'
import { Profile } from '../profile.js'
import { SessionState } from '../session-state.js'

const served = { queues: ['q'], taskTypes: ['x'], tenant: null } as const

export function aLane(over: Partial<Lane> = {}): Lane {
  return { queue: 'q', priority: 2, tenant: 't', gate: '', ...over }
}

export function aProfile(
  over: Partial<{ queues: string[]; taskTypes: string[]; tenant: string | null }> = {},
): Profile {
  return new Profile({ ...served, ...over })
}

/** A task taken under the n-th lease of a test. */
export function taken(n: number, over: Partial<TakenTask> = {}): TakenTask {
  const texts = {
    payload: '{}',
    metadata: null,
    idempotencyKey: null,
    checkpoint: null,
    traceparent: null,
    ...{ cronId: null, scheduledAtMs: null, workflowId: null, nodeName: null },
  }
  const instants = { timeoutMs: 1_000, deadlineAtMs: 1_000, startedAtMs: 0, readyAtMs: 0, createdAtMs: 0 }
  const lease = { id: `task ${n}`, session: 's', grant: n, attempt: 1, token: BigInt(n), failures: 0, suspect: false }
  return { ...lease, ...aLane(), taskType: 'x', ...texts, ...instants, ...over }
}

export function aSession(over: Partial<SessionRow> = {}): SessionState {
  const times = { heartbeatMs: 5_000, leaseMs: 15_000 }
  const row = {
    id: 's',
    name: 'w',
    ...served,
    slots: 10,
    ...times,
    draining: false,
    lastGrant: 0,
    received: 0,
    ...over,
  }
  const state = new SessionState(row, aProfile(), { received: row.received, confirmedAtMs: 0 })
  state.isServed = true
  return state
}
