import { parseCrontab } from '@duly/domain'
import type { CronRecord, Duly, ImportedCrontab, ImportedLine, ImportOptions } from '@duly/sdk'
import type { Command } from 'commander'
import { exitCode } from '../cli/exit-codes.js'
import { readInputFile } from '../cli/json-input.js'
import { utc } from '../cli/render-cron.js'
import { table } from '../cli/table.js'
import { cronTaskFields, toBatchItem } from '../cli/task-fields.js'
import { type TaskFlags, taskFromFlags, withFields } from '../cli/task-flags.js'
import type { Terminal } from '../cli/terminal.js'
import { fromNow } from '../cli/zoned.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'
import { type RuleFlags, rulesOf, withRules } from './cron-define.js'

interface ImportFlags extends ClientOptions, RuleFlags, TaskFlags {
  readonly taskType?: string
  readonly namePrefix?: string
  readonly timezone?: string
  readonly system?: true
  readonly paused?: true
  readonly dryRun?: true
}

const EXAMPLE = [
  'crontab -l | duly cron import - --name-prefix web-1/ --timezone Europe/Paris --dry-run',
  'duly cron import /etc/crontab --system --max-retries 0 --timeout 6h --overlap queue',
].join('\n')

/** `duly cron import`. */
export function cronImport(context: Context): Command {
  const load = clientCommand('import', 'make recurring tasks of the lines of a crontab; twice is as once', EXAMPLE)
    .argument('<file>', 'the crontab, or - for standard input')
    .option('--dry-run', 'say what would be taken, and store nothing')
    .option('--task-type <name>', 'of every task; its payload is {"command": …} (default: "run_command")')
    .option('--timezone <zone>', 'IANA time zone, where no CRON_TZ line says another (default: UTC)')
    .option('--system', 'a system crontab: a user stands before each command')
    .option('--name-prefix <text>', 'before each name, which is made of the command, e.g. web-1/')
    .option('--paused', 'fire nothing of them until they are resumed')
    .option('--tenant <id>', 'tenant (metadata.tenant_id)')
  return withFields(withRules(load), cronTaskFields).action(async (file: string, flags: ImportFlags) => {
    const { terminal } = context
    const text = file === '-' ? await terminal.readStdin() : await readInputFile('<file>', file)
    const options = await optionsOf(flags, terminal)
    await withClient(flags, async (duly) => {
      const imported = await duly.cron.import(text, options)
      const next = flags.json ? new Map() : await nextOf(duly, { text, options, imported })
      if (imported.refused > 0) context.setExit(exitCode('partly'))
      print(context, flags, imported, () => renderImport(imported, next))
    })
  })
}

async function optionsOf(flags: ImportFlags, terminal: Terminal): Promise<ImportOptions> {
  const { taskType, namePrefix, timezone, dryRun, system, paused } = flags
  const { options } = toBatchItem(await taskFromFlags(cronTaskFields, flags, terminal))
  return {
    ...options,
    ...rulesOf(flags),
    ...(taskType === undefined ? {} : { taskType }),
    ...(namePrefix === undefined ? {} : { namePrefix }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(dryRun ? { dryRun } : {}),
    ...(system ? { hasUser: true } : {}),
    ...(paused ? { enabled: false } : {}),
  }
}

interface Import {
  readonly text: string
  readonly options: ImportOptions
  readonly imported: ImportedCrontab
}

/** When each line that was taken fires next, in words, by its number. */
async function nextOf(duly: Duly, { text, options, imported }: Import): Promise<ReadonlyMap<number, string>> {
  const next = new Map<number, string>()
  for (const { line, cronId } of imported.lines) if (cronId !== null) next.set(line, comes(await duly.cron.get(cronId)))
  if (!options.dryRun) return next
  const { timezone = 'UTC', hasUser = false } = options
  const judged = new Set(imported.lines.filter(({ result }) => result === 'would_import').map(({ line }) => line))
  for (const line of parseCrontab(text, { timezone, hasUser })) {
    if (!('taken' in line) || !judged.has(line.line)) continue
    const { expression, timezone: zone } = line.taken.schedule
    const { fireTimes } = await duly.cron.preview({ cron: expression, timezone: zone }, { count: 1 })
    next.set(line.line, at(fireTimes[0]))
  }
  return next
}

const comes = ({ status, nextFireTime }: CronRecord): string =>
  status === 'ACTIVE' ? at(nextFireTime ?? undefined) : status

const at = (time: Date | undefined): string => (time === undefined ? '-' : `${utc(time)}, ${fromNow(time, new Date())}`)

/** Comments and blank lines are nothing to tell of. */
const isTold = ({ result, message }: ImportedLine): boolean =>
  result !== 'ignored' || (message !== 'comment' && message !== 'blank')

function renderImport({ lines, imported, refused }: ImportedCrontab, next: ReadonlyMap<number, string>): string {
  const rows = lines
    .filter(isTold)
    .map(({ line, result, name, message, text }) => [
      line,
      result,
      name,
      next.get(line),
      message ?? text.replaceAll('\t', ' '),
    ])
  const counts = ['created', 'replaced', 'unchanged', 'would_import']
    .map((result) => [lines.filter((line) => line.result === result).length, result] as const)
    .filter(([count]) => count > 0)
    .map(([count, result]) => `${count} ${result}`)
  const taken = `${imported} taken${counts.length === 0 ? '' : ` (${counts.join(', ')})`}, ${refused} refused\n`
  return `${rows.length === 0 ? '' : `${table(['LINE', 'RESULT', 'NAME', 'NEXT', 'WHAT'], rows)}\n`}${taken}`
}
