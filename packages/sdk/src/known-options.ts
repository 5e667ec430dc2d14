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

/**
 * The one of some names that a misspelt one was meant for, whatever its case and its hyphens; undefined when none is near: at most
 * a third of its letters may differ.
 */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  const plain = plainOf(wrong)
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(plain, plainOf(name)) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best !== undefined && best.distance <= Math.max(1, Math.floor(plain.length / 3)) ? best.name : undefined
}

const plainOf = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

/** Letters to insert, delete, replace or swap with their neighbour (optimal string alignment; Damerau 1964). */
function distanceOf(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const least = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      next.push(isSwap ? Math.min(least, (before[j - 2] ?? 0) + 1) : least)
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}
