import { type Duly, isFinished, type TaskHandle, type TaskRecord } from '@duly/sdk'
import type { Command } from 'commander'
import { CliError } from '../cli/cli-error.js'
import { exitCode } from '../cli/exit-codes.js'
import { readInputFile } from '../cli/json-input.js'
import { exactJson } from '../cli/render.js'
import { parseSeconds } from '../cli/seconds.js'
import { cell } from '../cli/table.js'
import { taskFields, toBatchItem } from '../cli/task-fields.js'
import { type FileTask, parseTaskFile } from '../cli/task-file.js'
import { givenFlags, type TaskFlags, taskFromFlags, withFields } from '../cli/task-flags.js'
import { tellIfUnserved } from '../cli/unserved-note.js'
import { fromNow } from '../cli/zoned.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'
import { submitFile } from './submit-file.js'

interface SubmitFlags extends ClientOptions, TaskFlags {
  readonly file?: string
  /** Seconds at most; true: without a limit. */
  readonly wait?: true | number
  readonly progress?: true
}

const EXAMPLE = [
  `duly task submit send_email --payload '{"to":"a@example.com"}' --wait`,
  'duly task submit send_email --payload @mail.json --delay 24h --priority high --idempotency-key welcome-1',
  'duly task submit --file examples/tasks.jsonl --progress',
].join('\n')

/** `duly task submit`. */
export function taskSubmit(context: Context): Command {
  const submit = clientCommand('submit', 'submit a task, or a file of tasks', EXAMPLE)
    .argument('[type]', 'task type')
    .option('--payload <json>', 'payload: JSON, @file, or - for standard input')
    .option('--file <path>', 'submit each line of a JSON Lines file, in batches')
    .option('--wait [duration]', 'wait until it is finished, or that long at most, and print its result', waitLimit)
    .option('--progress', 'with --file: show a live count by status until all are finished')
    .option('--tenant <id>', 'tenant (metadata.tenant_id)')
    .option('--correlation-id <id>', 'your own reference (metadata.correlation_id)')
  return withFields(submit, taskFields).action(async (type: string | undefined, flags: SubmitFlags) => {
    if (flags.file !== undefined) return submitFromFile(context, type, { ...flags, file: flags.file })
    if (type === undefined)
      throw new CliError(
        'usage',
        'name the type of the task, or a --file',
        'E.g. `duly task submit send_email`; see `duly task submit --help`.',
      )
    if (flags.progress) throw new CliError('usage', '--progress goes with --file', 'For one task, use --wait.')
    const task = { task_type: type, ...(await taskFromFlags(taskFields, flags, context.terminal)) }
    await withClient(flags, (duly) => submitOne(context, { duly, flags, task }))
  })
}

async function submitFromFile(
  context: Context,
  type: string | undefined,
  flags: SubmitFlags & { file: string },
): Promise<void> {
  const extra = [
    type === undefined ? [] : `the type ${type}`,
    flags.payload === undefined ? [] : '--payload',
    givenFlags(taskFields, flags),
  ].flat()
  if (extra.length > 0)
    throw new CliError('usage', `with --file, each line states its own task: leave out ${extra.join(', ')}`)
  if (typeof flags.wait === 'number')
    throw new CliError('usage', '--wait takes no limit with --file', 'Leave the duration out: --wait.')
  const tasks = parseTaskFile(flags.file, await readInputFile('--file', flags.file))
  await withClient(flags, (duly) =>
    submitFile(context, {
      duly,
      tasks,
      asJson: flags.json === true,
      watch: flags.progress === true || flags.wait !== undefined,
    }),
  )
}

async function submitOne(
  context: Context,
  { duly, flags, task }: { duly: Duly; flags: SubmitFlags; task: FileTask },
): Promise<void> {
  const item = toBatchItem(task)
  const handle = await duly.tasks.submit(String(item.task), item.payload, item.options)
  if (!flags.wait) {
    const answer = { ...handle.receipt, replayed: handle.isReplay }
    return print(context, flags, answer, () => `${handle.id}  ${standing(handle)}\n`)
  }
  context.terminal.err(flags.json ? '' : `${handle.id} submitted, waiting …\n`)
  const record = await waitFor(context, { duly, id: handle.id, limit: flags.wait })
  if (record.status !== 'SUCCEEDED') context.setExit(exitCode('failed'))
  if (flags.json) return print(context, flags, record, () => '')
  showOutcome(context, record)
}

/** How a task was taken, and when it comes if that is later. */
function standing({ receipt: { status, scheduledAt }, isReplay }: TaskHandle): string {
  const isLater = status === 'SCHEDULED' && scheduledAt !== null
  const due = isLater ? `  due ${scheduledAt.toISOString()}, ${fromNow(scheduledAt, new Date())}` : ''
  return `${status}${isReplay ? '  (submitted before, with the same key)' : ''}${due}`
}

/** @throws CliError for a word: most likely it is the type of the task, which stands before the flag */
function waitLimit(text: string): number {
  if (/^\d/.test(text)) return parseSeconds(text, '--wait')
  const remedy = `Write the type before it: \`duly task submit ${text} --wait\`; or a duration after it, e.g. --wait 30s.`
  throw new CliError('usage', `--wait: "${text}" is not a duration`, remedy)
}

interface Waiting {
  readonly duly: Duly
  readonly id: string
  readonly limit: true | number
}

/** The record at its end, or as it stands when the limit is over. */
async function waitFor({ terminal }: Context, { duly, id, limit }: Waiting): Promise<TaskRecord> {
  const ended = new AbortController()
  const noted = tellIfUnserved({ duly, id, signal: ended.signal, tell: terminal.err })
  try {
    return await duly.tasks.wait(id, limit === true ? {} : { timeout: limit * 1_000 })
  } finally {
    ended.abort()
    await noted
  }
}

/** The result alone goes to the output, so that it can be piped; the rest is told beside it. */
function showOutcome({ terminal }: Context, record: TaskRecord): void {
  if (!isFinished(record.status)) {
    terminal.err(
      `${record.id} ${record.status}: not finished yet; \`duly task get ${record.id} --wait 60s\` waits on\n`,
    )
    return
  }
  const tries = record.attempts === 1 ? '' : `, attempt ${record.attempts}`
  const took = record.durationMs === null ? '' : ` in ${record.durationMs} ms`
  const why = record.error === null ? record.reason : `${record.error.class}: ${record.error.message}`
  terminal.err(`${record.id} ${record.status}${took}${tries}${why === null ? '' : `: ${cell(why)}`}\n`)
  if (record.status === 'SUCCEEDED') terminal.out(`${exactJson(record, 'result', 2)}\n`)
}
