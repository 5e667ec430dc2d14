/** Members of one object, as they stand in a buffer, in threes: the quote before the key, the quote behind it, the member's end. */
export interface Members {
  readonly bytes: Buffer
  readonly places: readonly number[]
  /** Where the object's own begin in `places`. */
  readonly base: number
}

/** Numbers of a member in {@link Members.places}. */
export const PER_MEMBER = 3

/** Bytes of a key that are sorted at once. */
const PREFIX_BYTES = 4
/** More than an object has keys; beside 2^32 prefixes it is exact in a double. */
const MAX_MEMBERS = 2 ** 21
/** So few are put in order by comparing them one by one. */
const FEW = 16

/** Part of the members, alike in the first `depth` bytes of their keys. */
interface Group {
  readonly from: number
  readonly to: number
  readonly depth: number
}

/**
 * The numbers of the members in the order of their keys, byte by byte. Many keys are not compared one with another: four bytes at
 * a time are sorted as numbers, natively, and only what is alike so far is looked at further. So whatever the keys have in common,
 * no byte of theirs is read twice.
 */
export function orderOf(members: Members): Uint32Array {
  const count = (members.places.length - members.base) / PER_MEMBER
  const order = Uint32Array.from({ length: count }, (_, index) => index)
  const open: Group[] = [{ from: 0, to: count, depth: 0 }]
  for (let group = open.pop(); group !== undefined; group = open.pop()) {
    if (group.to - group.from <= FEW) sortFew(members, order, group)
    else sortByPrefix(members, order, group, open)
  }
  return order
}

/** Negative when the key of the first member comes first. */
export function compareKeys({ bytes, places, base }: Members, one: number, other: number, depth = 0): number {
  let [a, b] = [base + one * PER_MEMBER, base + other * PER_MEMBER]
  const [endA, endB] = [places[a + 1] as number, places[b + 1] as number]
  a = (places[a] as number) + 1 + depth
  b = (places[b] as number) + 1 + depth
  for (; a < endA && b < endB; a++, b++) {
    const difference = (bytes[a] as number) - (bytes[b] as number)
    if (difference !== 0) return difference
  }
  return endA - a - (endB - b)
}

function sortFew(members: Members, order: Uint32Array, { from, to, depth }: Group): void {
  for (let i = from + 1; i < to; i++) {
    const one = order[i] as number
    let at = i
    for (; at > from && compareKeys(members, order[at - 1] as number, one, depth) > 0; at--) {
      order[at] = order[at - 1] as number
    }
    order[at] = one
  }
}

/** Sorts a group by the next bytes of its keys; what is alike in these too is left open. */
function sortByPrefix(members: Members, order: Uint32Array, { from, to, depth }: Group, open: Group[]): void {
  const keyed = new Float64Array(to - from)
  for (let i = from; i < to; i++) {
    const member = order[i] as number
    keyed[i - from] = prefixOf(members, member, depth) * MAX_MEMBERS + member
  }
  keyed.sort()
  let first = from
  let alike = -1
  for (let i = from; i <= to; i++) {
    const value = i < to ? (keyed[i - from] as number) : Number.POSITIVE_INFINITY
    const prefix = Math.floor(value / MAX_MEMBERS)
    if (i < to) order[i] = value % MAX_MEMBERS
    if (prefix === alike) continue
    // keys that end here are alike for good
    if (i - first > 1 && alike > 0) open.push({ from: first, to: i, depth: depth + PREFIX_BYTES })
    first = i
    alike = prefix
  }
}

/** The next bytes of a key as a number; zeros behind its end, since no key holds U+0000. */
function prefixOf({ bytes, places, base }: Members, member: number, depth: number): number {
  const place = base + member * PER_MEMBER
  const end = places[place + 1] as number
  let prefix = 0
  let at = (places[place] as number) + 1 + depth
  for (let i = 0; i < PREFIX_BYTES; i++, at++) prefix = prefix * 256 + (at < end ? (bytes[at] as number) : 0)
  return prefix
}
