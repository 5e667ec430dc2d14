/**
 * One competitor under a `FairGroup`. Self-clocked fair queueing (Golestani, 1994): the group's clock is the finish tag of the last start;
 * whoever's next start would finish first, at `tag + cost`, is served. The tag of a backlogged competitor lies within one cost behind the
 * clock, so over any interval two of them stray from their weights by less than one start each.
 */
export class FairShare {
  /** Virtual time at which its last start finished; at most the clock of its group. */
  tag = 0
  /** Virtual time that one start takes: 1 / weight. */
  cost = 1
  /** Sort key among its siblings: the finish of its next start, or its rank in a strict group. */
  due = 0
  /** The number of its last start over the whole selector; a tie goes to the one that waited longest. */
  servedAt = 0
  /** The last selection that offered it. */
  offeredAt = 0
  /** The round of its group in which starts were given back. */
  refundedIn = 0
}

/** A competitor that has competitors below it, of which those on offer stand in a heap. */
export class FairGroup<Child extends FairShare> extends FairShare {
  readonly children = new Map<string | number, Child>()
  readonly #heap: Child[] = []
  #strict = false
  #round = 0
  #clock = 0
  #clockBefore = 0

  /** The child to be served next; undefined when no more is on offer. */
  get next(): Child | undefined {
    return this.#heap[0]
  }

  /** Begins a round: nobody is on offer. A strict group serves by rank instead of weight. */
  open(strict: boolean): void {
    this.#heap.length = 0
    this.#strict = strict
    this.#round++
  }

  /** Adds a child that the group has not seen, or has forgotten. It starts at the clock and waits for one cost, like everybody. */
  admit(key: string | number, child: Child): Child {
    child.tag = this.#clock
    this.children.set(key, child)
    return child
  }

  /** Puts a child on offer. It keeps what it has waited; time in which it was idle earns no more than the one start that was due. */
  offer(child: Child, weight: number, rank: number): void {
    child.cost = 1 / weight
    const isRefunded = child.refundedIn === this.#round - 1
    child.tag = Math.max(child.tag, (isRefunded ? this.#clockBefore : this.#clock) - child.cost)
    child.due = this.#strict ? rank : child.tag + child.cost
    this.#heap.push(child)
  }

  /** Ends the offering: orders the heap, in linear time. */
  close(): void {
    this.#clockBefore = this.#clock
    for (let index = (this.#heap.length >> 1) - 1; index >= 0; index--) this.#sink(index)
  }

  /** Charges one start to the next child and moves it to its new place, or out if it has no more on offer. */
  serve(child: Child, hasMore: boolean, startNumber: number): void {
    child.servedAt = startNumber
    if (!this.#strict) {
      child.tag += child.cost
      child.due = child.tag + child.cost
      this.#clock = Math.max(this.#clock, child.tag)
    }
    if (!hasMore) this.#removeNext()
    this.#sink(0)
  }

  /**
   * Gives starts back. The next round honours it, and only as far back as the clock stood before this round: a lane that promises tasks and
   * never has them can double its share of the tries but not starve the others.
   */
  refund(child: Child, starts: number): void {
    if (this.#strict) return
    child.tag -= starts * child.cost
    child.refundedIn = this.#round
  }

  #removeNext(): void {
    const last = this.#heap.pop()
    if (last !== undefined && this.#heap.length > 0) this.#heap[0] = last
  }

  #sink(from: number): void {
    const heap = this.#heap
    const moving = heap[from]
    if (moving === undefined) return
    let at = from
    for (let index = 2 * at + 1; index < heap.length; index = 2 * at + 1) {
      let least = heap[index] ?? moving
      const right = heap[index + 1]
      if (right !== undefined && isBefore(right, least)) {
        least = right
        index++
      }
      if (!isBefore(least, moving)) break
      heap[at] = least
      at = index
    }
    heap[at] = moving
  }
}

function isBefore(a: FairShare, b: FairShare): boolean {
  return a.due < b.due || (a.due === b.due && a.servedAt < b.servedAt)
}
