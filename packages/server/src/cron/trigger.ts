import { DulyError, type IdMinter, limits, partitionOf, type TenantScope, type Uuid } from '@duly/domain'
import { busy } from '../base/busy.js'
import { Turns } from '../base/turns.js'
import type { Submitted } from '../model.js'
import { commit } from '../store/commits.js'
import { checkedPayload, unpackTemplate } from '../store/cron-template.js'
import type { Connection, Database } from '../store/database.js'
import { asDulyError } from '../store/faults.js'
import type { FiringStore, LockedCron, NewFiring } from '../store/firing-store.js'
import type { IntakeStore, MintedTask, PlacedTask } from '../store/intake-store.js'
import { taskOf } from './firer.js'

export interface TriggerOptions {
  readonly database: Database
  readonly store: FiringStore
  readonly intake: IntakeStore
  readonly minter: IdMinter
  /** Triggers that are under way at a time: those of one definition wait for each other, and a connection would wait with each. */
  readonly atOnce: number
  readonly onTriggered: (row: MintedTask, placed: PlacedTask, firing: NewFiring) => void
}

interface Triggered {
  readonly row: MintedTask
  readonly placed: PlacedTask
  readonly firing: NewFiring
}

/** What a trigger comes to. */
interface Fired {
  /** Null: there is no such definition. */
  readonly answer: Submitted | null
  /** Null: nothing is known of it but that it was committed. */
  readonly triggered: Triggered | null
}

const mostWaiting = 1_000

/** A task of a definition now, by hand: recorded as a firing, while its schedule stays as it is. */
export class Trigger {
  readonly #options: TriggerOptions
  readonly #turns: Turns

  constructor(options: TriggerOptions) {
    this.#options = options
    this.#turns = new Turns({ width: options.atOnce, mostWaiting, refusal: () => busy('triggers') })
  }

  /**
   * Null: there is no such definition.
   * @throws DulyError `commit_unknown`, `store_unavailable`, `unprocessable` (its template is spoilt)
   */
  fire(cronId: Uuid, tenant: TenantScope): Promise<Submitted | null> {
    return this.#turns.run(() => this.#fireNow(cronId, tenant))
  }

  async #fireNow(cronId: Uuid, tenant: TenantScope): Promise<Submitted | null> {
    const { database, minter, onTriggered, intake } = this.#options
    const taskId = minter.mint(partitionOf(cronId))
    const { answer, triggered } = await commit<Fired>({
      ids: [taskId],
      write: async () =>
        firedOf(await database.transaction((client) => this.#fire(client, { cronId, tenant, taskId }))),
      makeDays: (instantsMs) => intake.makeDays(instantsMs),
      lookUp: () => this.#lookUp(taskId),
      advice: 'Look at its firings before you trigger it again.',
    }).catch((error: unknown) => {
      throw asDulyError(error)
    })
    if (triggered) onTriggered(triggered.row, triggered.placed, triggered.firing)
    return answer
  }

  async #lookUp(taskId: Uuid): Promise<Fired | null> {
    const [task] = await this.#options.intake.standing([taskId])
    if (task === undefined) return null
    const status = task.status === 'RUNNING' ? 'PENDING' : task.status
    return { answer: { ...task, status, replayed: false }, triggered: null }
  }

  async #fire(
    client: Connection,
    { cronId, tenant, taskId }: { readonly cronId: Uuid; readonly tenant: TenantScope; readonly taskId: Uuid },
  ): Promise<Triggered | null> {
    const { store, intake } = this.#options
    const locked = await store.lockOne(client, cronId, tenant)
    if (locked === null) return null
    const template = readTemplate(() => ({ ...unpackTemplate(locked), payload: checkedPayload(locked.payload) }))
    const task = taskOf(locked.tenant, template, null)
    const row = {
      id: taskId,
      partition: partitionOf(taskId),
      task,
      handoff: null,
      cron: { id: cronId, isBlocked: false },
    }
    const firing = await this.#record(client, locked, taskId)
    const [placed] = await intake.insert(client, [row], store.slot)
    if (placed === undefined) throw new Error('an inserted task did not come back')
    await store.triggered(client, cronId, taskId)
    return { row, placed, firing }
  }

  /** Firings of one definition have different instants: the next free one, to the millisecond. */
  async #record(client: Connection, locked: LockedCron, taskId: Uuid): Promise<NewFiring> {
    const of = { cronId: locked.id, tenant: locked.tenant, taskId }
    for (let fireAtMs = Math.ceil(locked.nowMs); ; fireAtMs++) {
      if (isOfSchedule(locked, fireAtMs)) continue
      const firing: NewFiring = { ...of, fireAtMs, outcome: 'triggered' }
      if ((await this.#options.store.record(client, [firing])).length > 0) return firing
    }
  }
}

function firedOf(triggered: Triggered | null): Fired {
  if (triggered === null) return { answer: null, triggered }
  const { row, placed } = triggered
  const times = { scheduledAtMs: null, createdAtMs: placed.createdAtMs }
  return { answer: { id: row.id, status: 'PENDING', ...times, replayed: false }, triggered }
}

/** An instant at which the schedule may fire: one that is taken by hand would be lost to it, as judged before. */
function isOfSchedule({ everyMs, anchorAtMs }: LockedCron, ms: number): boolean {
  // expressions know whole seconds only; a row by hand can have an interval that leaves no instant free
  const [beatMs, fromMs] = everyMs === null ? [1_000, 0] : [Math.max(everyMs, limits.cronEveryMinMs), anchorAtMs]
  return (ms - Math.round(fromMs)) % beatMs === 0
}

function readTemplate<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    throw new DulyError('unprocessable', `No task can be made of it: ${said}. Replace its definition.`, {
      cause: error,
    })
  }
}
