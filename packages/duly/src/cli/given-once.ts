import type { Command } from 'commander'
import { CliError } from './cli-error.js'

/**
 * Has a command refuse a flag with one value that is given more than once, and a pair like `--worker` and `--no-worker`: else the
 * last would win without a word. A switch that is repeated says the same, and lists take as many as are given.
 */
export function refuseRepeats(command: Command): void {
  const given = new Map<string, string>()
  for (const option of command.options) {
    const { long, short, variadic } = option
    const flag = long ?? short ?? option.flags
    const isSwitch = !option.required && !option.optional
    command.on(`option:${option.name()}`, () => {
      const before = given.get(option.attributeName())
      given.set(option.attributeName(), flag)
      if (before === undefined || variadic || (isSwitch && before === flag)) return
      const what = before === flag ? `${flag} is given more than once` : `${before} and ${flag} are given together`
      throw new CliError('usage', `${what}: give one`)
    })
  }
}
