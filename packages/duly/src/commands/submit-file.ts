import type { Duly } from '@duly/sdk'
import { CliError } from '../cli/cli-error.js'
import { exitCode } from '../cli/exit-codes.js'
import { explainFailure } from '../cli/failure.js'
import { ProgressDisplay } from '../cli/progress-line.js'
import { Tally } from '../cli/tally.js'
import { toBatchItem } from '../cli/task-fields.js'
import { type FileTask, inBatches } from '../cli/task-file.js'
import { type Look, watchTasks } from '../cli/watch-tasks.js'
import { type Context, print } from './command.js'

/** Large enough to be cheap, small enough that the first tasks run while the rest is sent. */
const BATCH_SIZE = 500

export interface FileSubmission {
  readonly duly: Duly
  readonly tasks: readonly FileTask[]
  readonly asJson: boolean
  /** Stay until all are finished. */
  readonly watch: boolean
}

/** Submits tasks in batches, each of which is accepted as a whole, and follows them to their end if asked. */
export async function submitFile(context: Context, submission: FileSubmission): Promise<void> {
  const { tasks, asJson, watch } = submission
  const tally = new Tally(tasks.length)
  const display = new ProgressDisplay(context.terminal)
  const show = (last = false) => {
    if (watch && !asJson) display.show(tally, last ? tally.known : tasks.length, last)
  }
  const began = performance.now()
  await Promise.all(watch ? sendAndWatch(submission, tally, show) : [sendAll(submission, tally, show)])
  show(true)
  const seconds = Math.round((performance.now() - began) / 100) / 10
  const summary = { submitted: tasks.length, tasks: tally.known, seconds, statuses: tally.counts() }
  if (watch && tally.count('SUCCEEDED') < tally.known) context.setExit(exitCode('failed'))
  print(context, asJson ? { json: true } : {}, summary, () => renderSummary(summary, watch))
}

/** Both at once: the first tasks may have ended before the last are sent. A failed submission ends the watch. */
function sendAndWatch(submission: FileSubmission, tally: Tally, show: () => void): Promise<void>[] {
  const { duly } = submission
  const stop = new AbortController()
  let isComplete = false
  const sending = sendAll(submission, tally, show).then(
    () => {
      isComplete = true
    },
    (error: unknown) => {
      stop.abort()
      throw error
    },
  )
  const statusOf = async (id: string, look: Look) => (await duly.tasks.get(id, look)).status
  return [sending, watchTasks(tally, { statusOf, onChange: show, isComplete: () => isComplete, signal: stop.signal })]
}

async function sendAll({ duly, tasks }: FileSubmission, tally: Tally, show: () => void): Promise<void> {
  let sent = 0
  for (const batch of inBatches(tasks, BATCH_SIZE)) {
    const handles = await duly.tasks.submitBatch(batch.map(toBatchItem)).catch((error: unknown) => {
      throw describeFailedBatch(error, { sent, size: batch.length, total: tasks.length })
    })
    for (const handle of handles) tally.note(handle.id, handle.receipt.status)
    sent += batch.length
    show()
  }
}

/** The server counts from 0 within the batch; the reader wants to know where that was in the file, and what is done already. */
function describeFailedBatch(
  error: unknown,
  { sent, size, total }: { sent: number; size: number; total: number },
): CliError {
  const failure = explainFailure(error)
  const where = `tasks ${sent + 1} to ${sent + size} of the file were not accepted (tasks[0] is number ${sent + 1})`
  const done = sent === 0 ? 'Nothing was submitted.' : `The ${sent} before them, of ${total}, were submitted.`
  const remedy = [
    done,
    failure.remedy,
    sent > 0 ? 'With an idempotency_key on every line, the file can be sent again safely.' : undefined,
  ]
  return new CliError(failure.exit, `${where}: ${failure.message}`, remedy.filter(Boolean).join(' '))
}

function renderSummary(
  { submitted, tasks, seconds, statuses }: { submitted: number; tasks: number; seconds: number; statuses: object },
  watched: boolean,
): string {
  const repeated = submitted === tasks ? '' : ` as ${tasks} tasks (the same idempotency key makes one)`
  const ends = Object.entries(statuses).map(([status, count]) => `${count} ${status}`)
  return `${submitted} submitted${repeated}${watched ? ', all finished' : ''} in ${seconds} s: ${ends.join(', ')}\n`
}
