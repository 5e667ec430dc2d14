import type { Uuid } from '@duly/domain'
import type { TakenTask } from '../queue/port.js'

/** A waiting worker's slot, kept for a task that is being committed. */
export interface Reservation {
  readonly session: Uuid
  readonly token: bigint
  /** The commit's word: the task as it was handed off, null when it was not, or that nobody knows. */
  settle(task: TakenTask | null | 'unknown'): void
}
