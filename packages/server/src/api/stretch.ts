import { setImmediate } from 'node:timers/promises'

/**
 * Characters of JSON that are read or hashed in one stretch before others get their turn: 10 to 20 ms. A whole batch of objects
 * with random keys takes a second and more.
 */
export const STRETCH_CHARS = 262_144

/** Makes something of each item, in order, and lets others have their turn after each stretch. `hashed`: characters that it had to hash or write. */
export async function inStretches<T, R>(
  items: readonly T[],
  make: (item: T, index: number) => { readonly made: R; readonly hashed: number },
): Promise<R[]> {
  const all: R[] = []
  let chars = 0
  for (const [index, item] of items.entries()) {
    const { made, hashed } = make(item, index)
    all.push(made)
    chars += hashed
    if (chars < STRETCH_CHARS) continue
    chars = 0
    await setImmediate()
  }
  return all
}
