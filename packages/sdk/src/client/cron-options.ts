import { checkRetry } from '../define-task.js'
import { type Duration, toSeconds } from '../duration.js'
import { checkOptions, namesOf, type OptionNames } from '../known-options.js'
import type { CronStatus, MisfirePolicy, OverlapPolicy } from './cron-records.js'
import type { RawJson } from './raw-json.js'
import { type SubmitOptions, taskOptionNames, toSubmission, type WireSubmission } from './submission.js'

/** When: a cron expression or an interval, one of them. */
export type CronTiming =
  | { readonly cron: string; readonly every?: never; readonly timezone?: string }
  | { readonly every: Duration; readonly cron?: never; readonly timezone?: string }

/** What the tasks of a definition take of a submission's options. */
export type CronTaskOptions = Omit<SubmitOptions, 'delay' | 'scheduledAt' | 'idempotencyKey' | 'traceparent' | 'signal'>

/** The rules of a definition beside its timing. */
export interface CronRules {
  /** While an earlier task of it is unfinished; `skip` unless given. */
  readonly overlap?: OverlapPolicy
  /** Of what was missed by more than the grace; `fire_once` unless given. */
  readonly misfire?: MisfirePolicy
  /** How late a fire time may be and is not missed; 60 s unless given. */
  readonly misfireGrace?: Duration
  readonly startsAt?: Date | string | null
  readonly endsAt?: Date | string | null
  /** Moves it by a constant below this, drawn from its id. */
  readonly jitter?: Duration
  /** False: PAUSED. True unless given; an upsert leaves it as it stands. */
  readonly enabled?: boolean
}

/** A definition: when, by which rules, and the options of its tasks. */
export type CronOptions = CronTiming & CronRules & CronTaskOptions

/** The payload of the tasks, as their definition takes it; it can be left out where the definition asks for none. */
export type PayloadOption<PayloadIn> = undefined extends PayloadIn
  ? { readonly payload?: PayloadIn | RawJson }
  : { readonly payload: PayloadIn | RawJson }

/** A change: what is absent stays. */
export type CronEdit = (CronTiming | { readonly cron?: never; readonly every?: never; readonly timezone?: string }) &
  CronRules &
  CronTaskOptions & { readonly taskType?: string; readonly payload?: unknown }

/** Which recurring tasks a list holds; all that is given must fit. */
export interface CronFilters {
  readonly status?: CronStatus
  readonly taskType?: string
  readonly queue?: string
  /** Only for a key that is bound to no tenant. */
  readonly tenant?: string
  /** Exactly this name. */
  readonly name?: string
  readonly namePrefix?: string
}

/** Of an import: the rules, and the options of the tasks, of all its lines. */
export interface ImportOptions extends CronRules, CronTaskOptions {
  /** Of every task, whose payload is `{ command, stdin?, user? }`; `run_command` unless given. */
  readonly taskType?: string
  /** Names are this and one made of the command, so that an import can be repeated. */
  readonly namePrefix?: string
  /** A system crontab, with the user before the command. */
  readonly hasUser?: boolean
  /** Where no `CRON_TZ` line says another. */
  readonly timezone?: string
  /** Judge only, store nothing. */
  readonly dryRun?: boolean
}

const definitionNames: OptionNames = {
  names: [
    ...namesOf<CronRules & Pick<CronTiming, 'cron' | 'every' | 'timezone'>>({
      ...{ cron: true, every: true, timezone: true, overlap: true, misfire: true, misfireGrace: true },
      ...{ startsAt: true, endsAt: true, jitter: true, enabled: true },
    }),
    ...['payload', ...taskOptionNames.names],
  ],
  elsewhere: {
    ...taskOptionNames.elsewhere,
    ...{ cron_expression: 'cron', expression: 'cron', schedule: 'cron', every_seconds: 'every', interval: 'every' },
    ...{ overlap_policy: 'overlap', misfire_policy: 'misfire', misfire_grace_seconds: 'misfireGrace' },
    jitter_seconds: 'jitter',
  },
}

const timingNames: OptionNames = {
  names: namesOf<Pick<CronTiming, 'cron' | 'every' | 'timezone'>>({ cron: true, every: true, timezone: true }),
  elsewhere: definitionNames.elsewhere ?? {},
}

const editNames: OptionNames = { ...definitionNames, names: ['taskType', ...definitionNames.names] }

/** @throws TypeError for an option that no definition has */
export function checkDefinition(call: 'cron.create' | 'cron.upsert', definition: CronOptions): void {
  checkOptions(call, definition, definitionNames)
  checkRetry(call, definition.retry)
}

/** @throws TypeError for an option that no change has */
export function checkEdit(edit: CronEdit): void {
  checkOptions('cron.update', edit, editNames)
  checkRetry('cron.update', edit.retry)
}

/** From when on fire times are shown, and how many. */
export interface PreviewOptions {
  readonly after?: Date | string
  readonly count?: number
}

const previewNames: OptionNames = { names: namesOf<PreviewOptions>({ after: true, count: true }) }

/** @throws TypeError for an option that no preview has */
export function checkPreview(timing: CronTiming, options: PreviewOptions): void {
  checkOptions('cron.preview', timing, timingNames)
  checkOptions('cron.preview', options, previewNames)
}

/** The fields of a schedule and its rules on the wire. */
export function timingToWire(options: Partial<CronTiming> & CronRules): WireSubmission {
  return {
    cron_expression: options.cron,
    every_seconds: seconds(options.every),
    timezone: options.timezone,
    overlap_policy: options.overlap,
    misfire_policy: options.misfire,
    misfire_grace_seconds: seconds(options.misfireGrace),
    starts_at: instant(options.startsAt),
    ends_at: instant(options.endsAt),
    jitter_seconds: seconds(options.jitter),
    enabled: options.enabled,
  }
}

const parameters: Readonly<Record<keyof CronFilters, string>> = {
  status: 'status',
  taskType: 'task_type',
  queue: 'queue',
  tenant: 'tenant_id',
  name: 'name',
  namePrefix: 'name_prefix',
}

const filterNames = { names: Object.keys(parameters), elsewhere: { tenant_id: 'tenant' } }

/** The filters of a list as parameters. */
export function cronQuery(filters: CronFilters): URLSearchParams {
  checkOptions('cron.list', filters, filterNames)
  const search = new URLSearchParams()
  for (const [name, parameter] of Object.entries(parameters)) {
    const value = filters[name as keyof CronFilters]
    if (value !== undefined) search.set(parameter, value)
  }
  return search
}

const importNames: OptionNames = {
  names: [
    ...namesOf<Omit<ImportOptions, keyof CronRules | keyof CronTaskOptions>>({
      ...{ taskType: true, namePrefix: true, hasUser: true, timezone: true, dryRun: true },
    }),
    ...definitionNames.names.filter((name) => !['cron', 'every', 'timezone', 'payload'].includes(name)),
  ],
  elsewhere: definitionNames.elsewhere ?? {},
}

/** The body of an import. */
export async function importToWire(crontab: string, options: ImportOptions): Promise<WireSubmission> {
  checkOptions('cron.import', options, importNames)
  checkRetry('cron.import', options.retry)
  return {
    crontab,
    name_prefix: options.namePrefix,
    has_user: options.hasUser,
    dry_run: options.dryRun,
    ...timingToWire(options),
    ...(await toSubmission('', undefined, options)),
    task_type: options.taskType,
  }
}

const seconds = (duration: Duration | undefined): number | undefined =>
  duration === undefined ? undefined : toSeconds(duration)

export const instant = (at: Date | string | null | undefined): string | null | undefined =>
  at instanceof Date ? at.toISOString() : at
