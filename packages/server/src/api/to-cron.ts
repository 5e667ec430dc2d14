import type {
  CreateCronTaskBody,
  CronTaskListQueryBody,
  EditCronTaskBody,
  ImportCrontabBody,
  PreviewScheduleBody,
  PutCronTaskBody,
} from '@duly/contract'
import { priorityCode, type TenantScope } from '@duly/domain'
import type {
  CronEdit,
  CronFilters,
  CronPut,
  CronSchedule,
  CronTemplate,
  CrontabImport,
  NewTask,
  PreviewRequest,
} from '../model.js'
import { parseInstant } from './instant.js'
import type { Captures } from './json-captures.js'
import { toNewTask } from './to-new-task.js'

const defaultTimezone = 'UTC'
const defaultCrontabType = 'run_command'
const defaultGraceMs = 60_000
const defaultFireTimes = 10

const toMs = (seconds: number): number => Math.round(seconds * 1_000)
const instantOf = (text: string | null): number | null => (text === null ? null : parseInstant(text))
const map = <T, R>(value: T | undefined, read: (value: T) => R): R | undefined =>
  value === undefined ? undefined : read(value)

type Definition = Omit<CronPut, 'enabled' | 'name'>

/** What a definition has beside its parsed fields: texts as the client wrote them, and what the caller's key is bound to. */
interface Origin {
  readonly captures: Captures
  readonly tenant: TenantScope
}

/**
 * A definition with the defaults applied: those of a task are the ones of a submission.
 * @throws DulyError `forbidden` when a bound key names another tenant
 */
export function toDefinition(body: CreateCronTaskBody | PutCronTaskBody, { captures, tenant }: Origin): Definition {
  const texts = { payload: captures.text('payload'), metadata: captures.text('metadata') }
  const task = toNewTask(body, {
    ...texts,
    request: '',
    idempotencyKey: undefined,
    traceparent: null,
    caller: { keyId: null, tenant },
  })
  return {
    tenant: task.tenant,
    boundTo: tenant,
    expression: body.cron_expression ?? null,
    everyMs: map(body.every_seconds, toMs) ?? null,
    timezone: body.timezone ?? defaultTimezone,
    overlap: body.overlap_policy ?? 'skip',
    misfire: body.misfire_policy ?? 'fire_once',
    graceMs: map(body.misfire_grace_seconds, toMs) ?? defaultGraceMs,
    startsAtMs: instantOf(body.starts_at ?? null),
    endsAtMs: instantOf(body.ends_at ?? null),
    jitterMs: map(body.jitter_seconds, toMs) ?? 0,
    template: templateOf(task),
  }
}

function templateOf(task: NewTask): CronTemplate {
  const {
    tenant: _t,
    boundTo: _b,
    submittedBy: _y,
    scheduledAtMs: _s,
    delayMs: _d,
    idempotencyKey: _k,
    requestHash: _h,
    traceparent: _p,
    ...rest
  } = task
  return rest
}

/** Only what the body names. */
export function toCronEdit(body: EditCronTaskBody, captures: Captures): CronEdit {
  return {
    ...given({ ...timingOf(body), ...boundsOf(body), enabled: body.enabled }),
    template: given(templateEditOf(body, captures)),
    ...given({ namedTenant: body.metadata?.tenant_id as string | undefined }),
  }
}

/** An expression takes the place of an interval, and the other way round. */
function timingOf({ cron_expression, every_seconds, timezone }: EditCronTaskBody): Partial<CronSchedule> {
  if (cron_expression !== undefined) return given({ expression: cron_expression, everyMs: null, timezone })
  if (every_seconds !== undefined) return given({ expression: null, everyMs: toMs(every_seconds), timezone })
  return given({ timezone })
}

function boundsOf(body: EditCronTaskBody): Partial<CronSchedule> {
  return given({
    overlap: body.overlap_policy,
    misfire: body.misfire_policy,
    graceMs: map(body.misfire_grace_seconds, toMs),
    startsAtMs: map(body.starts_at, instantOf),
    endsAtMs: map(body.ends_at, instantOf),
    jitterMs: map(body.jitter_seconds, toMs),
  })
}

function templateEditOf(body: EditCronTaskBody, captures: Captures) {
  return {
    taskType: body.task_type,
    queue: body.queue,
    priority: map(body.priority, priorityCode),
    payload: captures.text('payload'),
    metadata: captures.text('metadata'),
    tags: body.tags,
    expiresAtMs: map(body.expires_at, instantOf),
    maxRetries: body.max_retries,
    backoff: body.retry_backoff,
    jitter: body.retry_jitter,
    retryDelayMs: map(body.retry_delay_seconds, toMs),
    retryMaxDelayMs: map(body.retry_max_delay_seconds, toMs),
    timeoutMs: map(body.timeout_seconds, toMs),
    resultTtlMs: map(body.result_ttl_seconds, toMs),
    concurrencyKey: body.concurrency_key,
  }
}

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>
}

export function toCronFilters(query: CronTaskListQueryBody): CronFilters {
  return {
    tenant: query.tenant_id ?? null,
    status: query.status ?? null,
    taskType: query.task_type ?? null,
    queue: query.queue ?? null,
    name: query.name ?? null,
    namePrefix: query.name_prefix ?? null,
  }
}

export function toPreview(body: PreviewScheduleBody): PreviewRequest {
  return {
    expression: body.cron_expression ?? null,
    everyMs: map(body.every_seconds, toMs) ?? null,
    timezone: body.timezone ?? defaultTimezone,
    afterMs: instantOf(body.after ?? null),
    count: body.count ?? defaultFireTimes,
  }
}

export const fireTimesCount = (count: number | undefined): number => count ?? defaultFireTimes

/** @throws DulyError `forbidden` when a bound key names another tenant */
export function toImport(body: ImportCrontabBody, origin: Origin): CrontabImport {
  const definition = toDefinition({ ...body, task_type: body.task_type ?? defaultCrontabType }, origin)
  return {
    crontab: body.crontab,
    namePrefix: body.name_prefix ?? '',
    hasUser: body.has_user ?? false,
    dryRun: body.dry_run ?? false,
    common: { ...definition, enabled: body.enabled ?? null },
  }
}
