import type { BulkAction, BulkSource, BulkStatus, TaskStatus, TenantScope, Uuid } from '@duly/domain'
import type { DeadLetterFilters } from './dead-letters.js'
import type { TaskFilters } from './lists.js'

/** What an operation on many tasks is to do. */
export type BulkOrder =
  | { readonly action: BulkAction; readonly source: 'tasks'; readonly filters: TaskFilters }
  | {
      readonly action: Exclude<BulkAction, 'cancel'>
      readonly source: 'dead_letters'
      readonly filters: DeadLetterFilters
    }

/** An operation on many tasks as it stands. Instants are epoch ms of the store. */
export interface BulkRecord {
  readonly id: Uuid
  readonly action: BulkAction
  readonly source: BulkSource
  readonly filters: Partial<TaskFilters & DeadLetterFilters>
  /** What the caller's key was bound to. */
  readonly tenant: TenantScope
  readonly actor: string
  readonly status: BulkStatus
  readonly matched: number
  readonly done: number
  readonly skipped: number
  readonly failed: number
  readonly error: string | null
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly completedAtMs: number | null
}

/** A task that an operation would change. */
export interface BulkSample {
  readonly id: Uuid
  readonly status: TaskStatus
  readonly tenant: string
  readonly taskType: string
  readonly queue: string
}

/** What an operation would change, as far as one bounded look tells. */
export interface BulkPreview {
  readonly action: BulkAction
  readonly matched: number
  /** The look stopped at its bound. */
  readonly isAtLeast: boolean
  readonly byStatus: Readonly<Partial<Record<TaskStatus, number>>>
  readonly samples: readonly BulkSample[]
}
