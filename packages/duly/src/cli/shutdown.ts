import { constants } from 'node:os'

/** One thing to stop, with its name for the log. */
export interface StopStep {
  readonly name: string
  readonly stop: () => Promise<void>
  /** What is told when that is done; `stopped <name>` unless given. */
  readonly told?: () => string
}

/**
 * One Ctrl-C or `kill` reaches us several times: from the process group and again from each parent that passes it on. Only
 * a signal later than this counts as another one.
 */
export const SAME_SIGNAL_MS = 1_000

export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: (signal: NodeJS.Signals) => void): unknown
}

/**
 * Waits for SIGINT or SIGTERM.
 * @param again called at each further signal that comes no sooner than {@link SAME_SIGNAL_MS} after the one before it
 */
export function untilSignal(
  source: SignalSource,
  again: (signal: NodeJS.Signals) => void,
  now: () => number = () => performance.now(),
): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let takenAt: number | undefined
    const take = (signal: NodeJS.Signals) => {
      const isFirst = takenAt === undefined
      if (takenAt !== undefined && now() - takenAt < SAME_SIGNAL_MS) return
      takenAt = now()
      if (isFirst) resolve(signal)
      else again(signal)
    }
    source.on('SIGINT', take)
    source.on('SIGTERM', take)
  })
}

/** Stops everything in the order given; a step that fails is told and doesn't keep the rest from being stopped. */
export async function stopInOrder(steps: readonly StopStep[], log: (line: string) => void): Promise<boolean> {
  let clean = true
  for (const step of steps) {
    try {
      await step.stop()
      log(step.told?.() ?? `stopped ${step.name}`)
    } catch (error) {
      clean = false
      log(`could not stop ${step.name}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  return clean
}

/** The exit code of a process that a signal ended, by the shell's convention: 128 and the signal's number. */
export function exitOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal]
}
