import { DulyError, type Uuid, workflowTokenMark } from '@duly/domain'
import type { NewTask } from '../model.js'
import type { HandOff, TakenTask } from '../queue/port.js'
import type { MintedTask, PlacedTask } from '../store/intake-store.js'
import type { Reservation } from './reservation.js'

/** What a slot is asked for: the task that may take it. */
export interface Wanting {
  readonly id: Uuid
  readonly queue: string
  readonly taskType: string
  readonly tenant: string
}

/** A slot of a worker that waits for such a task, or null. */
export type Reserve = (task: Omit<Wanting, 'id'>) => Reservation | null

/** The workers that wait at this node. */
export interface Slots {
  readonly reserve: Reserve
  /** Whether anybody waits at all: if not, what an offer needs to know is not worth finding out. */
  isAnyoneWaiting(): boolean
}

/** Slots of waiting workers that are promised to tasks of one commit. Each promise is settled once: `end` settles what is left. */
export class HandOffs {
  readonly #reserve: Reserve
  readonly #promised = new Map<Uuid, Reservation>()

  constructor(reserve: Reserve) {
    this.#reserve = reserve
  }

  /** Nothing is promised. */
  get isNone(): boolean {
    return this.#promised.size === 0
  }

  /** A slot for the task, or null. */
  offer(task: Wanting): HandOff | null {
    const reservation = this.#reserve(task)
    if (reservation === null) return null
    this.#promised.set(task.id, reservation)
    return { session: reservation.session, token: reservation.token, queue: task.queue }
  }

  /** The commit's word on one: the task as it was started, null when it was not, or that nobody knows. */
  settle(id: Uuid, word: Parameters<Reservation['settle']>[0]): void {
    this.#promised.get(id)?.settle(word)
    this.#promised.delete(id)
  }

  /** The word on all others. */
  end(rest: null | 'unknown'): void {
    for (const id of [...this.#promised.keys()]) this.settle(id, rest)
  }
}

/** Whether a task may start with its submission. */
export const isDue = ({ scheduledAtMs, delayMs }: NewTask): boolean => scheduledAtMs === null && !delayMs

/** What a submission that was not told where it stands came to: its commit got no answer, and it may have been handed off. */
export function isUnsure(result: unknown): boolean {
  if (result instanceof Error) return !(result instanceof DulyError) || result.code === 'commit_unknown'
  return !(result as { readonly replayed: boolean }).replayed
}

/** A task that its submission handed to a worker, as a claim would have brought it. `node`: of a workflow. */
export function handedOff(
  { id, task, handoff }: MintedTask,
  place: PlacedTask,
  node: { readonly workflowId: Uuid; readonly name: string } | null = null,
): TakenTask {
  // one literal: put together of several, it costs a small task 20 µs
  return {
    id,
    session: handoff?.session ?? '',
    grant: place.grant ?? 0,
    attempt: 1,
    token: (handoff?.token ?? 0n) + (node === null ? 0n : workflowTokenMark),
    failures: 0,
    suspect: false,
    tenant: task.tenant,
    queue: task.queue,
    taskType: task.taskType,
    priority: task.priority,
    gate: '',
    payload: task.payload,
    metadata: task.metadata,
    timeoutMs: task.timeoutMs,
    deadlineAtMs: place.deadlineAtMs ?? 0,
    startedAtMs: place.createdAtMs,
    readyAtMs: place.createdAtMs,
    createdAtMs: place.createdAtMs,
    idempotencyKey: task.idempotencyKey,
    checkpoint: null,
    traceparent: task.traceparent,
    cronId: null,
    scheduledAtMs: null,
    workflowId: node?.workflowId ?? null,
    nodeName: node?.name ?? null,
  }
}
