import type { BulkHandle, BulkRecord } from '@duly/sdk'
import { exitCode } from '../cli/exit-codes.js'
import { bulkLine, ProgressDisplay } from '../cli/progress-line.js'
import { renderBulk } from '../cli/render-dlq.js'
import { exitOfSignal } from '../cli/shutdown.js'
import { type CommonOptions, type Context, print } from '../commands/command.js'

export interface FollowOptions {
  readonly options: CommonOptions
  /** About how many tasks it will come to; null: nobody knows. */
  readonly expected: number | null
}

/**
 * Shows an operation until it ends, and how it ended. A signal ends the watching alone: it says that the operation goes on, how to
 * follow it and how to stop it.
 */
export async function followBulk(
  context: Context,
  handle: BulkHandle,
  { options, expected }: FollowOptions,
): Promise<void> {
  const display = new ProgressDisplay(context.terminal)
  const onProgress = (record: BulkRecord): void => {
    if (options.json) return
    display.showLine(() => bulkLine(record, expected), record.status !== 'RUNNING')
  }
  const interrupt = new AbortController()
  let ended: NodeJS.Signals | null = null
  const onSignal = (signal: NodeJS.Signals): void => {
    ended = signal
    interrupt.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  try {
    const record = await handle.result({ onProgress, signal: interrupt.signal })
    print(context, options, record, renderBulk)
    if (record.status !== 'SUCCEEDED' || record.failed > 0) context.setExit(exitCode('failed'))
  } catch (error) {
    if (ended === null) throw error
    context.terminal.err(
      `\nThe operation ${handle.id} goes on. Follow it: duly task bulk watch ${handle.id}\nStop it: duly task bulk stop ${handle.id}\n`,
    )
    context.setExit(exitOfSignal(ended))
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
  }
}
