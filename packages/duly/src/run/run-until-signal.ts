import { exitOfSignal, type StopStep, stopInOrder, untilSignal } from '../cli/shutdown.js'
import { npmGone } from './npm-parent.js'

/**
 * Starts one part; returns how to stop it, or nothing if there is nothing to stop. The signal aborts when the start is no
 * longer wanted: a starter that waits gives up then, with the signal's reason.
 */
export type Starter = (signal: AbortSignal) => Promise<StopStep | undefined>

export interface RunOptions {
  readonly starters: readonly Starter[]
  /** Called when everything runs. */
  readonly onReady: () => void
  readonly log: (line: string) => void
  /** Called at a further signal: ends a wait of the stop under way. False when there is none: then the exit is forced. */
  readonly hasten?: () => boolean
  /** Ends at once what a forced exit would leave behind. */
  readonly onForce?: () => void
  /** Besides the signals: another reason to stop. If it rejects, everything is stopped too, and its error is thrown. */
  readonly until?: Promise<string>
}

/**
 * Starts parts one after the other, waits for SIGINT or SIGTERM (or the end of the npm that started it), and stops them in the opposite order: what depends on another
 * goes first. A signal during the start ends its waits and stops what has started. A further signal ends what the stop waits for, or the process at once.
 * @returns true if everything stopped as it should
 * @throws what a starter or `until` threw, after everything has been stopped
 */
export async function runUntilSignal(options: RunOptions): Promise<boolean> {
  const { starters, onReady, log } = options
  const steps: StopStep[] = []
  const interrupt = new AbortController()
  const { signal } = interrupt
  const asked = Promise.race([
    untilSignal(process, (signal) => {
      if (options.hasten?.()) log(`${signal} again: waiting no longer`)
      else forceExit(signal, options)
    }),
    npmGone(),
    ...(options.until ? [options.until] : []),
  ])
  const stopping = asked
    .then((reason) => log(`${reason}: stopping (another signal hastens it)`))
    .finally(() => interrupt.abort())
  stopping.catch(() => {}) // thrown below, when what has started is stopped
  try {
    for (const start of starters) {
      if (signal.aborted) break
      const step = await start(signal)
      if (step) steps.unshift(step)
    }
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) {
      await stopInOrder(steps, log)
      throw error
    }
  }
  if (!signal.aborted) onReady()
  const [outcome] = await Promise.allSettled([stopping])
  const clean = await stopInOrder(steps, log)
  if (outcome.status === 'rejected') throw outcome.reason
  return clean
}

function forceExit(signal: NodeJS.Signals, { log, onForce }: RunOptions): never {
  log(`${signal} again: ending at once`)
  onForce?.()
  process.exit(exitOfSignal(signal))
}
