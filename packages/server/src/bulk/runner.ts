import { type Clock, DulyError, encodeId, type Uuid } from '@duly/domain'
import type { Logger } from 'pino'
import type { BulkOrder } from '../model.js'
import { type BulkStore, BulkTaken, type HeldBulk } from '../store/bulk-store.js'
import { faultKind } from '../store/faults.js'
import { type Count, isPassing, type NodeFound, type Singles } from './singles.js'
import { type BulkListener, tellEffects } from './tell.js'
import { type Found, type Stretch, stretchOf, type WalkStores } from './walk.js'

export interface BulkRunnerOptions {
  readonly store: BulkStore
  readonly walks: WalkStores
  readonly singles: Singles
  readonly clock: Clock
  readonly log: Logger
  readonly listener: BulkListener
  /** Tasks of one transaction. */
  readonly batch: number
}

/** After so much silence of its node another one goes on with an operation. */
const leaseMs = 15_000

/** How long a node stays with one operation while others wait: a million tasks hold up nobody's ten. */
const sliceMs = 1_000

/** The pulse says when there is something to do; now and then it is looked for in any case (I3). */
const idleMs = 60_000

/** A batch meets a deadlock or a lock time-out so often before it is left to another turn. */
const tries = 3

/** Works at operations on many tasks: one after the other, in slices, each in batches that move its place in their own transaction. */
export class BulkRunner {
  readonly #options: BulkRunnerOptions

  constructor(options: BulkRunnerOptions) {
    this.#options = options
  }

  /** One pass: until none is left to work at, or the node stops. Answers in how many ms the next one is wanted. */
  async runOnce(stop: AbortSignal): Promise<number> {
    while (!stop.aborted) {
      const held = await this.#options.store.take(leaseMs)
      if (held === null) return idleMs
      await this.#work(held, stop)
    }
    return 0
  }

  async #work(held: HeldBulk, stop: AbortSignal): Promise<void> {
    const { store, clock, log } = this.#options
    const untilMs = clock.monotonicMs() + sliceMs
    try {
      let place: string | null = held.place
      do {
        const next = await this.#stretch({ ...held, place }, stop)
        if (next === null) return await this.#end(held)
        place = next
      } while (clock.monotonicMs() < untilMs && !stop.aborted)
      await store.release(held)
    } catch (error) {
      if (error instanceof BulkTaken) return
      // whoever sees the store again first goes on, when the lease is over
      if (isAway(error)) throw error
      const id = encodeId('bulk', held.id)
      log.error({ bulk: id, err: error }, 'an operation on many tasks failed')
      if (await store.end(held, 'FAILED', faultText)) this.#options.listener.onEnded(held.id)
    }
  }

  async #end(held: HeldBulk): Promise<void> {
    const { store, log, listener } = this.#options
    if (!(await store.end(held, 'SUCCEEDED'))) return
    log.info({ bulk: encodeId('bulk', held.id), action: held.action }, 'operation on many tasks has ended')
    listener.onEnded(held.id)
  }

  /** Looks at the next tasks and acts on them; answers the place behind them, or null at the end. */
  async #stretch(held: HeldBulk, stop: AbortSignal): Promise<string | null> {
    const { store, walks, batch } = this.#options
    const request = { place: held.place, limit: batch, cutoff: held.cutoff }
    const stretch = await stretchOf(walks, orderOf(held), request)
    const counted = new Set(await this.#cancelWaiting(held, stretch.found))
    const left = stretch.found.filter(({ id }) => !counted.has(id))
    for (const part of partsOf(left, held)) {
      if (stop.aborted) break
      await this.#part(held, part, { stretch, counted })
    }
    const last = stretch.found.at(-1)
    if (stop.aborted) return last === undefined ? stretch.next : stretch.behind(last)
    if (stretch.next !== null) {
      const nothing = { matched: 0, done: 0, skipped: 0, failed: 0, error: null }
      await store.advance(held, { place: stretch.next, ...nothing }, leaseMs)
    }
    return stretch.next
  }

  /** Tasks of workflows that wait, all of them at once; which were counted. */
  async #cancelWaiting(held: HeldBulk, found: readonly Found[]): Promise<readonly Uuid[]> {
    const nodes = held.action === 'cancel' ? found.filter((task) => isSingle(task, held)) : []
    return nodes.length > 1 ? this.#options.singles.cancelWaiting(held, nodes, this.#count(held)) : []
  }

  /** The place stays before them: a walk that begins there does not come to them again. */
  #count(held: HeldBulk): Count {
    return (client, counts) => this.#options.store.advanceWithin(client, held, { ...counts, place: null }, leaseMs)
  }

  async #part(
    held: HeldBulk,
    part: readonly Found[],
    { stretch, counted }: { readonly stretch: Stretch; readonly counted: Set<Uuid> },
  ): Promise<void> {
    const { store, singles } = this.#options
    const [first] = part
    if (first === undefined) return
    if (!isSingle(first, held)) return this.#plain(held, part, stretch)
    // the place moves on with the next one that is acted on
    if (counted.has(first.id)) return
    const step = await singles.act(held, first, { counted, count: this.#count(held) })
    await store.advance(held, { ...step, place: stretch.behind(first) }, leaseMs)
  }

  /** One whose row the store refuses spoils its batch: halves are tried until it stands alone, and has failed alone. */
  async #plain(held: HeldBulk, part: readonly Found[], stretch: Stretch): Promise<void> {
    const { store, listener } = this.#options
    const last = part.at(-1)
    if (last === undefined) return
    const place = stretch.behind(last)
    const ids = part.map(({ id }) => id)
    try {
      const reason = encodeId('bulk', held.id)
      tellEffects(listener, await again(() => store.apply(held, ids, { place, reason, leaseMs })))
    } catch (error) {
      if (faultKind(error) !== 'data') throw error
      if (part.length === 1) return this.#refused(held, { task: last, place, error })
      const middle = part.length >> 1
      for (const half of [part.slice(0, middle), part.slice(middle)]) await this.#plain(held, half, stretch)
    }
  }

  async #refused(
    held: HeldBulk,
    { task, place, error }: { readonly task: Found; readonly place: string; readonly error: unknown },
  ): Promise<void> {
    const id = encodeId('task', task.id)
    this.#options.log.error(
      { bulk: encodeId('bulk', held.id), task: id, err: error },
      'the store refuses to change a task',
    )
    const text = `The database refuses to change ${id}; the log of the node says why.`
    const step = { place, matched: 1, done: 0, skipped: 0, failed: 1, error: text }
    await this.#options.store.advance(held, step, leaseMs)
  }
}

const faultText = 'A fault of the server ended it; the log of the node has it.'

function isAway(error: unknown): boolean {
  if (error instanceof DulyError) return isPassing(error)
  return ['unavailable', 'transient'].includes(faultKind(error))
}

/** On a node of a workflow others depend, so that its service acts on it; a discard changes nothing for them. */
const isSingle = (task: Found, { action }: HeldBulk): task is NodeFound =>
  task.workflowId !== null && action !== 'discard'

/** Plain tasks together, and each task of a workflow by itself; in their order, so that the place behind each part is one. */
function partsOf(found: readonly Found[], held: HeldBulk): readonly (readonly Found[])[] {
  const parts: Found[][] = []
  let wasSingle = true
  for (const task of found) {
    const single = isSingle(task, held)
    if (single || wasSingle) parts.push([task])
    else parts.at(-1)?.push(task)
    wasSingle = single
  }
  return parts
}

const orderOf = ({ action, source, filters }: HeldBulk): BulkOrder => ({ action, source, filters }) as BulkOrder

/** The same once more after a deadlock or a lock time-out: nothing of it took effect. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === tries || faultKind(error) !== 'transient') throw error
    }
  }
}
