import type { BulkHandle, BulkRecord } from '@duly/sdk'
import { exitCode } from '../cli/exit-codes.js'
import { bulkLine, type ExpectedTasks, ProgressDisplay } from '../cli/progress-line.js'
import { renderBulk } from '../cli/render-dlq.js'
import { type CommonOptions, type Context, print } from '../commands/command.js'
import { whileWatching } from './while-watching.js'

export interface FollowOptions {
  readonly options: CommonOptions
  /** Null: nobody counted. */
  readonly expected: ExpectedTasks | null
}

/** Shows an operation until it ends, and how it ended. A signal ends the watching alone. */
export async function followBulk(
  context: Context,
  handle: BulkHandle,
  { options, expected }: FollowOptions,
): Promise<void> {
  const display = new ProgressDisplay(context.terminal)
  const onProgress = (record: BulkRecord): void => {
    if (options.json) return
    display.showLine((width) => bulkLine(record, expected, width), record.status !== 'RUNNING')
  }
  const { id } = handle
  const goesOn = `The operation ${id} goes on. Follow it: duly task bulk watch ${id}\nStop it: duly task bulk stop ${id}`
  const record = await whileWatching(context, goesOn, (signal) => handle.result({ onProgress, signal }))
  if (record === undefined) return
  print(context, options, record, renderBulk)
  if (record.status !== 'SUCCEEDED' || record.failed > 0) context.setExit(exitCode('failed'))
}
