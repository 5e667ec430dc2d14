import type { Uuid } from '@duly/domain'
import type { DueTimer } from '../store/timer-store.js'

/** So many instants of one task are held; it has several for a while when its time was changed. */
const instantsPerTask = 8

/**
 * The earliest timers in memory, a bounded number of them: a binary heap by instant. Which of several instants of a task is the
 * right one, only the store knows: word of an edit and a look at the store come in any order. So all are kept, and what comes
 * at a wrong one finds nothing to do.
 */
export class TimerHeap {
  readonly #limit: number
  readonly #onForgotten: (atMs: number) => void
  readonly #heap: DueTimer[] = []
  /** The instants of each task in the heap. */
  readonly #instants = new Map<Uuid, readonly number[]>()

  /** @param onForgotten told of the earliest instant that is held no more, for want of room: who wants it looks at the store before */
  constructor(limit: number, onForgotten: (atMs: number) => void) {
    this.#limit = limit
    this.#onForgotten = onForgotten
  }

  get size(): number {
    return this.#heap.length
  }

  /** The earliest instant, epoch ms; Infinity when empty. */
  get nextMs(): number {
    return this.#heap[0]?.wakeAtMs ?? Number.POSITIVE_INFINITY
  }

  /** True when it is now the earliest, and was not held already. */
  add(timer: DueTimer): boolean {
    const known = this.#instants.get(timer.id) ?? []
    if (known.includes(timer.wakeAtMs)) return false
    if (known.length >= instantsPerTask && !this.#yields(timer, Math.max(...known))) return false
    if (this.#heap.length >= this.#limit) this.#thin()
    this.#instants.set(timer.id, [...(this.#instants.get(timer.id) ?? []), timer.wakeAtMs])
    this.#heap.push(timer)
    this.#up(this.#heap.length - 1)
    return this.#heap[0] === timer
  }

  /** Of too many instants of one task the latest is forgotten. True when that makes room for this one. */
  #yields({ id, wakeAtMs }: DueTimer, latestMs: number): boolean {
    this.#onForgotten(Math.max(wakeAtMs, latestMs))
    if (wakeAtMs > latestMs) return false
    this.#remove(this.#heap.findIndex((each) => each.id === id && each.wakeAtMs === latestMs))
    return true
  }

  /** Removes and returns up to `limit` timers that are due at `nowMs`, earliest first, each task once. */
  takeDue(nowMs: number, limit: number): DueTimer[] {
    const due = new Map<Uuid, DueTimer>()
    while (due.size < limit && this.nextMs <= nowMs) {
      const timer = this.#pop()
      if (!due.has(timer.id)) due.set(timer.id, timer)
    }
    return [...due.values()]
  }

  /** The earlier half makes room for what may be earlier still. Sorting a half away takes 1 µs for each timer that comes. */
  #thin(): void {
    // sorted, it is a heap
    const sorted = this.#heap.sort((a, b) => a.wakeAtMs - b.wakeAtMs)
    const forgotten = sorted.splice(Math.ceil(sorted.length / 2))
    for (const timer of forgotten) this.#forget(timer)
    if (forgotten[0]) this.#onForgotten(forgotten[0].wakeAtMs)
  }

  #pop(): DueTimer {
    const first = this.#heap[0] as DueTimer
    this.#remove(0)
    return first
  }

  #remove(at: number): void {
    this.#forget(this.#heap[at] as DueTimer)
    const last = this.#heap.pop() as DueTimer
    if (at === this.#heap.length) return
    this.#heap[at] = last
    this.#up(at)
    this.#down(at)
  }

  #forget({ id, wakeAtMs }: DueTimer): void {
    const left = (this.#instants.get(id) ?? []).filter((instant) => instant !== wakeAtMs)
    if (left.length === 0) this.#instants.delete(id)
    else this.#instants.set(id, left)
  }

  #up(from: number): void {
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1
      if (!this.#isEarlier(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #down(from: number): void {
    for (let at = from; ; ) {
      const left = 2 * at + 1
      const right = left + 1
      const child = right < this.#heap.length && this.#isEarlier(right, left) ? right : left
      if (child >= this.#heap.length || !this.#isEarlier(child, at)) return
      this.#swap(at, child)
      at = child
    }
  }

  #isEarlier(a: number, b: number): boolean {
    return (this.#heap[a] as DueTimer).wakeAtMs < (this.#heap[b] as DueTimer).wakeAtMs
  }

  #swap(a: number, b: number): void {
    const held = this.#heap[a] as DueTimer
    this.#heap[a] = this.#heap[b] as DueTimer
    this.#heap[b] = held
  }
}
