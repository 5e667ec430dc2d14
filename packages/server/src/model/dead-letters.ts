import type { Uuid } from '@duly/domain'

/** Which dead letters are meant; null: whichever. All of them must fit. */
export interface DeadLetterFilters {
  readonly queue: string | null
  readonly taskType: string | null
  readonly tenant: string | null
  readonly errorClass: string | null
  readonly fingerprint: string | null
}

/** A task whose retries are used up. */
export interface DeadLetter {
  readonly id: Uuid
  readonly tenant: string
  readonly taskType: string
  readonly queue: string
  readonly createdAtMs: number
  readonly diedAtMs: number
  readonly attempts: number
  readonly failures: number
  readonly crashes: number
  readonly errorClass: string
  readonly errorMessage: string
  readonly errorPattern: string
  readonly fingerprint: string
}

export type SummaryFilters = Pick<DeadLetterFilters, 'queue' | 'taskType' | 'tenant'>

/** Dead letters of one queue, task type and normalised error. */
export interface DeadLetterGroup {
  readonly fingerprint: string
  readonly queue: string
  readonly taskType: string
  readonly errorClass: string
  readonly errorPattern: string
  readonly letters: number
  readonly oldestAtMs: number
  readonly newestAtMs: number
  readonly sampleId: Uuid
}

export interface DeadLetterSummary {
  readonly letters: number
  readonly groups: number
  readonly items: readonly DeadLetterGroup[]
  /** False: there were more sums than one look takes in. */
  readonly isComplete: boolean
}
