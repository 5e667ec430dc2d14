/**
 * The one of some names that a misspelt one was meant for, whatever its case and its hyphens; undefined when none is near: of the letters
 * of the words that the two do not share a third may differ, for `delay_seconds` is not `every_seconds`. Else the only one that begins or
 * ends with its words (`timeout` is `timeout_seconds`), or that it begins with (`queue_name` is `queue`).
 */
export function nearestName(wrong: string, names: readonly string[]): string | undefined {
  const plain = plainOf(wrong)
  const near = names
    .map((name) => ({ name, distance: distanceOf(plain, plainOf(name)) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(ownLetters(wrong, name) / 3)))
    .sort((a, b) => a.distance - b.distance)
  return (
    near[0]?.name ??
    onlyOne(names.filter((name) => hasWords(name, wrong, 'firstOrLast') || hasWords(wrong, name, 'first')))
  )
}

const onlyOne = ([first, ...others]: readonly string[]): string | undefined => (others.length === 0 ? first : undefined)

const plainOf = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, '')

/** `max_retries`, `max-retries` and `maxRetries` are two words. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]/)
    .filter((word) => word !== '')
}

/** Letters of a name in words that it does not share with the other one, at their places from the start or from the end. */
function ownLetters(name: string, other: string): number {
  const words = wordsOf(name)
  const others = wordsOf(other)
  const own = words.filter(
    (word, place) => word !== others[place] && word !== others[others.length - words.length + place],
  )
  return own.join('').length
}

/** Whether a name has the words of a shorter one at its start, or as well at its end. */
function hasWords(name: string, short: string, where: 'first' | 'firstOrLast'): boolean {
  const all = wordsOf(name)
  const words = wordsOf(short)
  if (words.length === 0 || words.length >= all.length) return false
  const isAt = (from: number) => words.every((word, place) => all[from + place] === word)
  return isAt(0) || (where === 'firstOrLast' && isAt(all.length - words.length))
}

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
