import { nearestName } from './nearest-name.js'

/** The names of options, and for some misspellings the place where they stand. */
export interface OptionNames {
  readonly names: readonly string[]
  /** Names of other places, as of the API: by the name, how it is written here. */
  readonly elsewhere?: Readonly<Record<string, string>>
}

/** The names of all options of a type: the compiler finds one that is missing or too many. */
export function namesOf<Options extends object>(all: Readonly<Record<keyof Options, true>>): readonly string[] {
  return Object.keys(all)
}

/**
 * Refuses options that no call knows: plain JavaScript has no compiler to say that `dely` is none, and a task that starts at once
 * in place of tomorrow is worse than an error.
 *
 * @param call what they were given to, for the message
 * @throws TypeError that names the first unknown option, and the nearest known one; or says that they are no object
 */
export function checkOptions(call: string, given: object | undefined, { names, elsewhere = {} }: OptionNames): void {
  if (given === undefined || given === null) return
  if (typeof given !== 'object' || Array.isArray(given)) throw new TypeError(`${call}: ${notAnObject(names)}`)
  const unknown = Object.keys(given).find((name) => !names.includes(name))
  if (unknown === undefined) return
  const words = [...names, ...Object.keys(elsewhere)]
  const nearest = nearestName(unknown, words)
  const told =
    nearest === undefined ? `known are ${names.join(', ')}` : `did you mean ${elsewhere[nearest] ?? nearest}?`
  throw new TypeError(`${call}: there is no option ${unknown}; ${told}`)
}

/** `the options are an object, such as { cron: … }`: a bare expression in its place has letters, but no names. */
const notAnObject = ([first]: readonly string[]): string => `the options must be an object, such as { ${first}: … }`
