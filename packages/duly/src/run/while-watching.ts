import { exitOfSignal } from '../cli/shutdown.js'
import type { Context } from '../commands/command.js'

/**
 * Does what only watches. A signal ends the watching alone, and what is watched goes on: then `goesOn` is told, how to follow and how to
 * stop it, and the result is undefined.
 */
export async function whileWatching<T>(
  context: Context,
  goesOn: string,
  watch: (signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  const interrupt = new AbortController()
  let ended: NodeJS.Signals | null = null
  const onSignal = (signal: NodeJS.Signals): void => {
    ended = signal
    interrupt.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal)
  try {
    return await watch(interrupt.signal)
  } catch (error) {
    if (ended === null) throw error
    context.terminal.err(`\n${goesOn}\n`)
    context.setExit(exitOfSignal(ended))
    return undefined
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal)
  }
}
