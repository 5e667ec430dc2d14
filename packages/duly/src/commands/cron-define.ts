import {
  type CronEdit,
  type CronOptions,
  type CronRecord,
  type CronRules,
  type CronTiming,
  type Duly,
  DulyApiError,
} from '@duly/sdk'
import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { renderCron } from '../cli/render-cron.js'
import { parseSeconds } from '../cli/seconds.js'
import { cronTaskFields, toBatchItem } from '../cli/task-fields.js'
import { type TaskFlags, taskFromFlags, withFields } from '../cli/task-flags.js'
import { findCron } from '../run/find-cron.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'

/** Fire times that are shown beside a definition. */
const SHOWN = 5

/** The flags of the rules of a definition. */
export interface RuleFlags {
  readonly overlap?: NonNullable<CronRules['overlap']>
  readonly misfire?: NonNullable<CronRules['misfire']>
  readonly misfireGrace?: number
  readonly startsAt?: string
  readonly endsAt?: string
  readonly jitter?: number
}

interface ScheduleFlags extends RuleFlags {
  readonly every?: number
  readonly timezone?: string
}

interface CreateFlags extends ClientOptions, ScheduleFlags, TaskFlags {
  readonly paused?: true
  readonly replace?: true
}

interface UpdateFlags extends ClientOptions, ScheduleFlags, TaskFlags {
  readonly taskType?: string
}

const duration = (flag: string) => (text: string) => parseSeconds(text, flag)
const policy = (text: string) => text.replaceAll('-', '_')

/** The flags of when, which a preview has too. */
export function withTiming(command: Command): Command {
  return command
    .argument('[expression]', 'cron expression, quoted: five fields, six with seconds, or @daily and the like')
    .option('--every <duration>', 'a fixed interval in place of an expression, e.g. 15m', duration('--every'))
    .option('--timezone <zone>', 'IANA time zone of the expression, e.g. Europe/Paris (default: UTC)')
}

/** The flags of what happens to firings, and from when to when there are any. */
export function withRules(command: Command): Command {
  return command
    .option('--overlap <policy>', 'while an earlier task of it runs: skip, queue or cancel_running', policy)
    .option('--misfire <policy>', 'of times missed by more than the grace: fire_once, skip or fire_all', policy)
    .option('--misfire-grace <duration>', 'how late is not missed yet', duration('--misfire-grace'))
    .option('--starts-at <instant>', 'nothing fires before this')
    .option('--ends-at <instant>', 'nothing fires after this')
    .option('--jitter <duration>', 'move it by a constant below this, its own', duration('--jitter'))
}

function withSchedule(command: Command): Command {
  return withRules(withTiming(command)).option(
    '--payload <json>',
    "its tasks' payload: JSON, @file, or - for standard input",
  )
}

/**
 * What the user wrote of when.
 * @throws CliError for both or none
 */
export function timingOf(expression: string | undefined, { every, timezone }: ScheduleFlags): CronTiming {
  const zone = timezone === undefined ? {} : { timezone }
  if (expression !== undefined && every !== undefined)
    throw new CliError('usage', 'give an expression or --every, not both')
  if (expression !== undefined) return { cron: expression, ...zone }
  if (every !== undefined) return { every: every * 1_000, ...zone }
  throw new CliError('usage', 'say when: an expression or --every', `E.g. '0 9 * * 1-5', quoted, or --every 15m.`)
}

/** Of "none" an edit makes no bound at all. */
const bound = (text: string): string | null => (text === 'none' ? null : text)

/** What the user wrote of the rules. */
export function rulesOf({ overlap, misfire, misfireGrace, startsAt, endsAt, jitter }: RuleFlags): CronRules {
  return {
    ...(overlap === undefined ? {} : { overlap }),
    ...(misfire === undefined ? {} : { misfire }),
    ...(misfireGrace === undefined ? {} : { misfireGrace: misfireGrace * 1_000 }),
    ...(startsAt === undefined ? {} : { startsAt: bound(startsAt) }),
    ...(endsAt === undefined ? {} : { endsAt: bound(endsAt) }),
    ...(jitter === undefined ? {} : { jitter: jitter * 1_000 }),
  }
}

/** Prints a definition, for a reader with its next fire times. */
export async function showCron(context: Context, options: ClientOptions, found: FoundCron): Promise<void> {
  const { cron } = found
  const around = options.json ? { fireTimes: [], lastStatus: null } : await lookAround(found)
  print(context, options, cron, () => renderCron(cron, { ...around, now: new Date() }))
}

/** What comes next, and how the last task stands; null: there was none, or its record is gone. */
async function lookAround({ duly, cron }: FoundCron) {
  const [fireTimes, last] = await Promise.all([
    cron.status === 'ACTIVE' ? duly.cron.fireTimes(cron.id, SHOWN) : [],
    cron.lastTaskId === null ? null : duly.tasks.get(cron.lastTaskId).catch(nullIfGone),
  ])
  return { fireTimes, lastStatus: last?.status ?? null }
}

function nullIfGone(error: unknown): null {
  if (error instanceof DulyApiError && error.code === 'not_found') return null
  throw error
}

export interface FoundCron {
  readonly duly: Duly
  readonly cron: CronRecord
}

const CREATE_EXAMPLE = [
  "duly cron create daily-report generate_report '0 9 * * 1-5' --timezone America/New_York",
  'duly cron create ping fetch_url --every 5m --payload \'{"url":"https://example.com"}\' --replace',
].join('\n')

/** `duly cron create`. */
export function cronCreate(context: Context): Command {
  const create = clientCommand(
    'create',
    'define a recurring task: a name, the type of its tasks, and when',
    CREATE_EXAMPLE,
  )
    .argument('<name>', 'its name, unique in its tenant')
    .argument('<type>', 'task type')
  withSchedule(create)
    .option('--paused', 'fire nothing until it is resumed')
    .option('--replace', 'where the name is taken, replace what it has; running it twice changes nothing')
    .option('--tenant <id>', 'tenant (metadata.tenant_id)')
    .option('--correlation-id <id>', 'your own reference (metadata.correlation_id)')
  return withFields(create, cronTaskFields).action(
    async (name: string, type: string, expression: string | undefined, flags: CreateFlags) => {
      const task = { task_type: type, ...(await taskFromFlags(cronTaskFields, flags, context.terminal)) }
      const { payload, options } = toBatchItem(task)
      const paused = flags.paused ? { enabled: false } : {}
      const definition = { ...options, ...timingOf(expression, flags), ...rulesOf(flags), ...paused, payload }
      await withClient(flags, async (duly) => {
        const define = flags.replace ? 'upsert' : 'create'
        await showCron(context, flags, { duly, cron: await duly.cron[define](name, type, definition as CronOptions) })
      })
    },
  )
}

const UPDATE_EXAMPLE = [
  "duly cron update daily-report '30 9 * * 1-5'",
  'duly cron update daily-report --priority high --ends-at none',
].join('\n')

/** `duly cron update`. */
export function cronUpdate(context: Context): Command {
  const update = clientCommand('update', 'change a recurring task: what is not named stays', UPDATE_EXAMPLE).argument(
    '<cron>',
    'its name or id',
  )
  withSchedule(update)
    .option('--task-type <name>', 'which handler runs its tasks')
    .option('--tenant <id>', 'whose it is, where several tenants have the name')
  return withFields(update, cronTaskFields).action(
    async (given: string, expression: string | undefined, flags: UpdateFlags) => {
      const edit = await editOf(context, expression, flags)
      if (Object.keys(edit).length === 0) throw new CliError('usage', 'say what to change, e.g. --timezone Asia/Tokyo')
      await withClient(flags, async (duly) => {
        const id = await findCron(duly, { given, tenant: flags.tenant })
        await showCron(context, flags, { duly, cron: await duly.cron.update(id, edit) })
      })
    },
  )
}

async function editOf(context: Context, expression: string | undefined, flags: UpdateFlags): Promise<CronEdit> {
  const { tenant: _whose, ...own } = flags
  const task = await taskFromFlags(cronTaskFields, own, context.terminal)
  const { payload, options = {} } = toBatchItem(task)
  const { retry, ...others } = options
  const { timezone, every, taskType } = flags
  return {
    ...others,
    ...(Object.keys(retry ?? {}).length === 0 ? {} : { retry }),
    ...(task.payload === undefined ? {} : { payload }),
    ...(taskType === undefined ? {} : { taskType }),
    ...rulesOf(flags),
    ...(expression === undefined && every === undefined ? {} : timingOf(expression, flags)),
    ...(timezone === undefined ? {} : { timezone }),
  } as CronEdit
}
