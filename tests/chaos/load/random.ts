/** Choices that a seed repeats. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Uniform in [low, high). */
  between(low: number, high: number): number
  /** A whole number, uniform in [low, high]. */
  integer(low: number, high: number): number
  pick<T>(items: readonly T[]): T
  /** One of the keys, as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K
}

/** The seed of this run: `DULY_SEED`, or a fresh one. Printed once, so that a run can be repeated. */
export const seed = readSeed()

function readSeed(): number {
  const given = process.env.DULY_SEED
  const value = given === undefined ? Math.trunc(Math.random() * 2 ** 31) : Number(given)
  if (!Number.isSafeInteger(value)) throw new Error(`DULY_SEED is not a whole number: ${given}`)
  if (given === undefined) console.log(`DULY_SEED=${value} repeats this run's random choices`)
  return value
}

/** A generator for one actor of a run; actors with other names draw independently. Mulberry32 (Tommy Ettinger). */
export function randomOf(actor: string, base = seed): Random {
  let state = [...actor].reduce(
    (hash, character) => Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193),
    base | 0,
  )
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    integer,
    between: (low, high) => low + next() * (high - low),
    pick: (items) => items[integer(0, items.length - 1)] as (typeof items)[number],
    weighted: (weights) => pickWeighted(weights, next()),
  }
}

function pickWeighted<K extends string>(weights: Readonly<Record<K, number>>, draw: number): K {
  const entries = Object.entries<number>(weights) as [K, number][]
  let left = draw * entries.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [key, weight] of entries) {
    left -= weight
    if (left < 0) return key
  }
  throw new Error('nothing has a weight')
}
