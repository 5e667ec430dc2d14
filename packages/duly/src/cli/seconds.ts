import { CliError } from './cli-error.js'

const UNITS: Readonly<Record<string, number>> = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400 }
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/

/** A duration as people write it (`90`, `1.5`, `500ms`, `30s`, `5m`, `24h`, `7d`), in seconds. The flag is for the message. */
export function parseSeconds(text: string, flag: string): number {
  const [, amount, unit = 's'] = FORM.exec(text) ?? []
  if (amount !== undefined) return Number(amount) * (UNITS[unit] ?? 1)
  throw new CliError(
    'usage',
    `${flag}: "${text}" is not a duration`,
    'Write seconds, or a number with a unit: 500ms, 30s, 5m, 24h, 7d.',
  )
}

/** Reads a count of a flag. */
export const wholeNumber =
  (flag: string, least: number) =>
  (text: string): number => {
    if (/^\d{1,9}$/.test(text) && Number(text) >= least) return Number(text)
    throw new CliError('usage', `${flag} must be a whole number from ${least}, not "${text}"`)
  }
