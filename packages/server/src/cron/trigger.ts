import { DulyError, type IdMinter, limits, partitionOf, type TenantScope, timestampMsOf, type Uuid } from '@duly/domain'
import { Turns } from '../base/turns.js'
import type { Submitted } from '../model.js'
import { checkedPayload, unpackTemplate } from '../store/cron-template.js'
import type { Connection, Database } from '../store/database.js'
import { asDulyError, faultKind, isUnknownOutcome, UnsettledOutcome } from '../store/faults.js'
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

const maxTries = 4
const mostWaiting = 1_000

/** A task of a definition now, by hand: recorded as a firing, while its schedule stays as it is. */
export class Trigger {
  readonly #options: TriggerOptions
  readonly #turns: Turns

  constructor(options: TriggerOptions) {
    this.#options = options
    this.#turns = new Turns({ width: options.atOnce, mostWaiting })
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
    for (let attempt = 1; ; attempt++) {
      try {
        const done = await database.transaction((client) => this.#fire(client, { cronId, tenant, taskId }))
        if (done === null) return null
        onTriggered(done.row, done.placed, done.firing)
        return {
          id: taskId,
          status: 'PENDING',
          scheduledAtMs: null,
          createdAtMs: done.placed.createdAtMs,
          replayed: false,
        }
      } catch (error) {
        const kind = faultKind(error)
        if (kind === 'missing_day' && attempt < maxTries) await intake.makeDays([timestampMsOf(taskId)])
        else if (kind !== 'transient' || attempt === maxTries) return this.#settled(taskId, error)
      }
    }
  }

  /** What failed may have been committed. */
  async #settled(taskId: Uuid, error: unknown): Promise<Submitted> {
    if (error instanceof DulyError) throw error
    const unknown = new DulyError(
      'commit_unknown',
      'The connection broke during the commit and the outcome could not be read.',
      {
        retryAfterSeconds: 1,
        cause: error,
      },
    )
    if (error instanceof UnsettledOutcome) throw unknown
    if (!isUnknownOutcome(error)) throw asDulyError(error)
    const [standing] = await this.#options.intake.standing([taskId]).catch(() => {
      throw unknown
    })
    if (standing === undefined) throw asDulyError(error)
    return { ...standing, status: standing.status === 'RUNNING' ? 'PENDING' : standing.status, replayed: false }
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
