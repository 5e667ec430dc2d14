import { type Clock, DulyError, type IdMinter, partitionOf, timestampMsOf, type Uuid } from '@duly/domain'
import type { EndedTask, NewTask } from '../model.js'
import type { Connection, Database } from '../store/database.js'
import { asDulyError, faultKind } from '../store/faults.js'
import type { DueCron, FiringStore, NewFiring, StoppingTask } from '../store/firing-store.js'
import type { IntakeStore, MintedTask, PlacedTask } from '../store/intake-store.js'
import { bounded, firingsOf, type Judged, judgeAll, messageOf, moveOf, type Unjudged } from './batch.js'

/** What a committed batch did; told to whoever it concerns. */
export interface Fired {
  readonly rows: readonly MintedTask[]
  readonly placed: readonly PlacedTask[]
  readonly firings: readonly NewFiring[]
  readonly cancelled: readonly EndedTask[]
  readonly stopping: readonly StoppingTask[]
  readonly errors: readonly Unjudged[]
  /** How late each task was made, ms after its instant (jitter included). */
  readonly latenessMs: readonly number[]
  readonly tookMs: number
}

export interface FirerOptions {
  readonly database: Database
  readonly store: FiringStore
  readonly intake: IntakeStore
  readonly minter: IdMinter
  readonly clock: Clock
  /** Definitions of one transaction. */
  readonly batch: number
  readonly onFired: (fired: Fired) => void
}

/** A definition that cannot be evaluated is looked at again after this: a node with newer time zone data may know better. */
const errorRetryMs = 300_000
const maxTries = 4
/** Earlier tasks that one transaction cancels (I10), of all its definitions. */
const overlapBatch = 1_000

/** Which definitions a transaction is about, locked. */
interface Look {
  readonly find: (client: Connection) => Promise<readonly DueCron[]>
  /** A lock time-out or a deadlock is tried again at once. */
  readonly isRepeated: boolean
}

/** What a transaction saw before it failed. */
interface Seen {
  dues: readonly DueCron[]
}

/**
 * Fires what is due, in bounded transactions. Each locks definitions (those that others hold are skipped), judges them, and writes
 * their firings, their tasks and where they go on, all or nothing. So a firing is there exactly if its task is (I6), whatever fails:
 * a commit whose answer got lost is found by the next look, which sees where the definitions stand.
 */
export class Firer {
  readonly #options: FirerOptions

  constructor(options: FirerOptions) {
    this.#options = options
  }

  /** One batch of what is due, oldest first. Answers how many definitions it saw; less than `batch`: that was all. */
  async fire(): Promise<number> {
    const { store, batch } = this.#options
    return this.#fire({ find: (client) => store.lockDue(client, batch, null), isRepeated: true })
  }

  /**
   * The one that is due for the longest, in line with whoever holds it, which takes `waitMs` at most: triggers that come one after the
   * other hold a definition all the time, and `fire` would pass it over for ever. False: its turn did not come.
   */
  async fireHeld(waitMs: number): Promise<boolean> {
    const { store } = this.#options
    try {
      await this.#fire({ find: (client) => store.lockNext(client, waitMs), isRepeated: false })
      return true
    } catch (error) {
      if (error instanceof DulyError && faultKind(error.cause) === 'transient') return false
      throw error
    }
  }

  async #fire(look: Look): Promise<number> {
    const seen: Seen = { dues: [] }
    try {
      const fired = await this.#trying(look, seen)
      this.#options.onFired(fired)
      return seen.dues.length
    } catch (error) {
      const kind = faultKind(error)
      if ((kind !== 'data' && kind !== 'bug') || seen.dues.length === 0) throw asDulyError(error)
      await this.#split(seen.dues, error)
      return seen.dues.length
    }
  }

  /** One of them spoils the batch: halves are tried until it stands alone, and is marked. */
  async #split(dues: readonly DueCron[], cause: unknown): Promise<void> {
    const [only] = dues
    if (dues.length === 1 && only) {
      const error = messageOf(cause)
      await this.#options.store.mark([{ id: only.id, error }], errorRetryMs)
      return this.#options.onFired({ ...nothing, errors: [{ due: only, error }] })
    }
    const { store, batch } = this.#options
    const middle = dues.length >> 1
    for (const half of [dues.slice(0, middle), dues.slice(middle)]) {
      const ids = half.map(({ id }) => id)
      await this.#fire({ find: (client) => store.lockDue(client, batch, ids), isRepeated: true })
    }
  }

  async #trying(look: Look, seen: Seen): Promise<Fired> {
    const { database, clock, intake } = this.#options
    for (let attempt = 1; ; attempt++) {
      const beganMs = clock.monotonicMs()
      let rows: readonly MintedTask[] = []
      try {
        const fired = await database.transaction((client) =>
          this.#batch(client, look, {
            saw: (dues) => {
              seen.dues = dues
            },
            makes: (tasks) => {
              rows = tasks
            },
          }),
        )
        return { ...fired, tookMs: clock.monotonicMs() - beganMs }
      } catch (error) {
        const kind = faultKind(error)
        const mayRepeat = kind === 'missing_day' || (kind === 'transient' && look.isRepeated)
        if (attempt === maxTries || !mayRepeat) throw error
        if (kind === 'missing_day') await intake.makeDays(rows.map(({ id }) => timestampMsOf(id)))
      }
    }
  }

  async #batch(
    client: Connection,
    look: Look,
    tell: { readonly saw: (dues: readonly DueCron[]) => void; readonly makes: (rows: readonly MintedTask[]) => void },
  ): Promise<Fired> {
    const { store, intake } = this.#options
    const dues = await look.find(client)
    tell.saw(dues)
    if (dues.length === 0) return nothing
    const { judged, unjudged } = judgeAll(dues)
    await store.markWithin(
      client,
      unjudged.map(({ due, error }) => ({ id: due.id, error })),
      errorRetryMs,
    )
    const taken = bounded(judged)
    const recorded = await this.#record(client, taken)
    const { cancelled, stopping, left } = await store.cancelOpen(client, cancelling(taken, recorded), overlapBatch)
    const { moving, won } = await this.#putOff(client, { taken, recorded, left: new Set(left) })
    const rows = await this.#rowsOf(client, { taken: moving, won, stopping })
    tell.makes(rows)
    const placed = rows.length === 0 ? [] : await intake.insert(client, rows, store.slot)
    const moved = await store.move(
      client,
      moving.map((each) => moveOf(each, won.get(each.due.id) ?? [])),
    )
    if (moved !== moving.length)
      throw new Error(`${moving.length - moved} of ${moving.length} locked definitions did not move`)
    const firings = [...won.values()].flat()
    return {
      ...nothing,
      rows,
      placed,
      firings,
      cancelled,
      stopping,
      errors: unjudged,
      latenessMs: latenessOf(moving, won),
    }
  }

  /**
   * Definitions with more earlier tasks than one transaction cancels stay due, and fire when the last one is gone: what was recorded of
   * them is taken back.
   */
  async #putOff(
    client: Connection,
    { taken, recorded, left }: { taken: readonly Judged[]; recorded: Making['won']; left: ReadonlySet<Uuid> },
  ): Promise<{ readonly moving: readonly Judged[]; readonly won: Making['won'] }> {
    if (left.size === 0) return { moving: taken, won: recorded }
    await this.#options.store.unrecord(
      client,
      [...left].flatMap((id) => recorded.get(id) ?? []),
    )
    const moving = taken.filter(({ due }) => !left.has(due.id))
    return { moving, won: new Map([...recorded].filter(([id]) => !left.has(id))) }
  }

  /** The firings that nobody judged before, by definition. */
  async #record(client: Connection, taken: readonly Judged[]): Promise<ReadonlyMap<Uuid, readonly NewFiring[]>> {
    const { store, minter } = this.#options
    const asking = taken.filter(({ due, plan }) => due.overlap === 'skip' && plan.fire.length > 0)
    const busy = await store.busy(
      client,
      asking.map(({ due }) => due.id),
    )
    const firings = taken.flatMap((each) =>
      // beside its definition, whatever becomes of shards
      firingsOf(each, busy.has(each.due.id), () => minter.mint(partitionOf(each.due.id))),
    )
    const recorded = new Set(
      (await store.record(client, firings)).map(({ cronId, fireAtMs }) => `${cronId} ${fireAtMs}`),
    )
    const won = new Map<Uuid, NewFiring[]>()
    for (const firing of firings) {
      if (!recorded.has(`${firing.cronId} ${firing.fireAtMs}`)) continue
      const list = won.get(firing.cronId)
      if (list) list.push(firing)
      else won.set(firing.cronId, [firing])
    }
    return won
  }

  async #rowsOf(client: Connection, { taken, won, stopping }: Making): Promise<readonly MintedTask[]> {
    const making = taken.filter(({ due }) => won.get(due.id)?.some(({ taskId }) => taskId !== null))
    if (making.length === 0) return []
    const payloads = await this.#options.store.payloads(
      client,
      making.map(({ due }) => due.id),
    )
    const awaited = new Set(stopping.map(({ cronId }) => cronId))
    return making.flatMap(({ due, template }) =>
      (won.get(due.id) ?? []).flatMap(({ taskId, fireAtMs }) => {
        if (taskId === null) return []
        const task = taskOf(due.tenant, { ...template, payload: payloads.get(due.id) ?? 'null' }, fireAtMs)
        const cron = { id: due.id, isBlocked: awaited.has(due.id) }
        return [{ id: taskId, partition: partitionOf(taskId), task, handoff: null, cron }]
      }),
    )
  }
}

interface Making {
  readonly taken: readonly Judged[]
  readonly won: ReadonlyMap<Uuid, readonly NewFiring[]>
  readonly stopping: readonly StoppingTask[]
}

const nothing: Fired = {
  ...{ rows: [], placed: [], firings: [], cancelled: [], stopping: [], errors: [], latenessMs: [] },
  tookMs: 0,
}

/** The task of a firing: `scheduled_at` is its nominal time, which is past, so that it is ready at once. */
export function taskOf(
  tenant: string,
  template: Omit<NewTask, 'tenant' | 'scheduledAtMs' | 'delayMs' | 'idempotencyKey' | 'requestHash' | 'traceparent'>,
  fireAtMs: number | null,
): NewTask {
  const unset = { delayMs: null, idempotencyKey: null, requestHash: null, traceparent: null }
  return { ...template, tenant, scheduledAtMs: fireAtMs, ...unset }
}

function cancelling(taken: readonly Judged[], won: Making['won']): readonly Uuid[] {
  return taken
    .filter(({ due }) => due.overlap === 'cancel_running' && won.get(due.id)?.some(({ taskId }) => taskId !== null))
    .map(({ due }) => due.id)
}

function latenessOf(taken: readonly Judged[], won: Making['won']): number[] {
  return taken.flatMap(({ due }) => {
    const shiftMs = due.wakeAtMs - due.nextFireAtMs
    // after an error the row's instant is the one of the next try
    const jitterMs = due.error === null ? shiftMs : 0
    return (won.get(due.id) ?? []).flatMap(({ taskId, fireAtMs }) =>
      taskId === null ? [] : [Math.max(0, due.nowMs - fireAtMs - jitterMs)],
    )
  })
}
