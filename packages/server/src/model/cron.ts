import type { CronStatus, FiringOutcome, MisfirePolicy, OverlapPolicy, TenantScope, Uuid } from '@duly/domain'
import type { NewTask } from './tasks.js'

/** When: exactly one of `expression` and `everyMs`. */
export interface CronTiming {
  readonly expression: string | null
  readonly everyMs: number | null
  readonly timezone: string
}

/** When, within which bounds, and what happens to firings that meet an unfinished task or come late. */
export interface CronSchedule extends CronTiming {
  readonly overlap: OverlapPolicy
  readonly misfire: MisfirePolicy
  readonly graceMs: number
  readonly startsAtMs: number | null
  readonly endsAtMs: number | null
  readonly jitterMs: number
}

/** What each task of a definition is made of. */
export type CronTemplate = Omit<
  NewTask,
  'tenant' | 'boundTo' | 'submittedBy' | 'scheduledAtMs' | 'delayMs' | 'idempotencyKey' | 'requestHash' | 'traceparent'
>

/** A definition with all defaults applied. */
export interface CronDefinition extends CronSchedule {
  readonly tenant: string
  readonly name: string
  readonly enabled: boolean
  readonly template: CronTemplate
}

/** A definition to create or replace; `enabled` null: as it stands, of a new one true. */
export interface CronPut extends Omit<CronDefinition, 'enabled'> {
  readonly enabled: boolean | null
  /** What the caller's key is bound to. */
  readonly boundTo: TenantScope
}

/** A change of a definition; what is absent stays. */
export type CronEdit = Partial<CronSchedule> & {
  readonly enabled?: boolean
  readonly template: Partial<CronTemplate>
  /** The tenant that `metadata` names, which cannot be another than the definition's. */
  readonly namedTenant?: string
}

/** What a list tells of a definition. Instants are epoch ms of the store. */
export interface CronSummary extends Omit<CronDefinition, 'template'> {
  readonly id: Uuid
  readonly template: Omit<CronTemplate, 'payload'>
  readonly status: CronStatus
  /** The schedule in words. */
  readonly description: string
  /** The nominal time; null unless ACTIVE. */
  readonly nextFireAtMs: number | null
  readonly lastFireAtMs: number | null
  readonly lastFiredAtMs: number | null
  readonly lastTaskId: Uuid | null
  readonly fired: number
  readonly skipped: number
  readonly error: string | null
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

export interface CronRecord extends CronSummary {
  readonly template: CronTemplate
}

/** Which definitions a list holds; null: whichever. All of them must fit. */
export interface CronFilters {
  readonly tenant: string | null
  readonly status: CronStatus | null
  readonly taskType: string | null
  readonly queue: string | null
  readonly name: string | null
  readonly namePrefix: string | null
}

/** What became of one fire time. */
export interface FiringRecord {
  readonly fireAtMs: number
  readonly firedAtMs: number
  readonly outcome: FiringOutcome
  readonly taskId: Uuid | null
}

/** A schedule to try; null: now, and the default count. */
export interface PreviewRequest extends CronTiming {
  readonly afterMs: number | null
  readonly count: number
}

export interface CrontabImport {
  readonly crontab: string
  readonly namePrefix: string
  /** A system crontab, with the user before the command. */
  readonly hasUser: boolean
  readonly dryRun: boolean
  /** What all lines have in common: everything but name, expression and payload. Its time zone counts until a line names one. */
  readonly common: Omit<CronPut, 'name'>
}

/** What became of one line of a crontab. */
export interface ImportedLine {
  readonly line: number
  readonly text: string
  readonly result: 'created' | 'replaced' | 'unchanged' | 'would_import' | 'ignored' | 'refused'
  readonly id: Uuid | null
  readonly name: string | null
  readonly message: string | null
}

/** What a PUT did. */
export interface PutResult {
  readonly record: CronRecord
  readonly result: 'created' | 'replaced' | 'unchanged'
}
