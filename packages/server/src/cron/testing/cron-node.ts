import { randomFillSync } from 'node:crypto'
import { type Clock, IdMinter, systemClock } from '@duly/domain'
import type pg from 'pg'
import { Names } from '../../intake/names.js'
import type { CronDefinition, CronPut } from '../../model.js'
import { makeStores } from '../../node/stores.js'
import { Database } from '../../store/database.js'
import type { Unblocked } from '../../store/firing-store.js'
import { StoreClock } from '../../store/store-clock.js'
import { graceMs, newTask, partitions } from '../../testing/test-node.js'
import { CronDuty } from '../cron-duty.js'
import { CronTasks } from '../cron-tasks.js'
import { type Fired, Firer } from '../firer.js'
import { Trigger } from '../trigger.js'

export interface CronNodeOptions {
  /** Gives the node its slots in `counters`. */
  readonly number: number
  readonly batch?: number
  readonly limit?: number
  /** The driver's client of the connections that fire. */
  readonly Client?: new () => pg.Client
  /** By how much the node's own idea of the store's time is wrong. */
  readonly skewMs?: number
  /** Between two looks at the store's clock it goes on by this one. */
  readonly between?: Clock
}

/** The service and the firing duty of recurring tasks on a database; nothing happens by itself. */
export interface CronNode {
  readonly cron: CronTasks
  readonly firer: Firer
  readonly duty: CronDuty
  readonly clock: StoreClock
  readonly fired: Fired[]
  readonly unblocked: Unblocked[]
  /** Instants that were told of. */
  readonly scheduled: number[]
  /** Fires until nothing is due any more. */
  drain(): Promise<void>
  close(): Promise<void>
}

export async function openCronNode(url: string, options: CronNodeOptions): Promise<CronNode> {
  const { number, batch = 200, limit = 1_000, Client, skewMs = 0, between = systemClock } = options
  const shared = { url, applicationName: 'duly cron test', statementTimeoutMs: 15_000, onError: () => {} }
  const database = new Database({ ...shared, hotConnections: 2, generalConnections: 2, ...(Client ? { Client } : {}) })
  const sure = new Database({ ...shared, hotConnections: 1, generalConnections: 1 })
  const stores = makeStores(database, { nodeNumber: number, graceMs })
  const clock = new StoreClock(sure, between)
  await clock.sync()
  const storeNowMs = () => clock.nowMs() + skewMs
  const minter = new IdMinter({ nowMs: storeNowMs, random: (bytes) => void randomFillSync(bytes), partitions })
  const [fired, unblocked, scheduled]: [Fired[], Unblocked[], number[]] = [[], [], []]
  const parts = { database, store: stores.firings, intake: stores.intake, minter }
  const firer = new Firer({
    ...{ ...parts, clock: systemClock, batch },
    onFired: (each) => {
      fired.push(each)
      duty.fired(each)
    },
  })
  const duty = new CronDuty({
    firer,
    store: stores.firings,
    batch,
    onUnblocked: (tasks) => void unblocked.push(...tasks),
  })
  const names = new Names(stores.intake, { limit: 1_000, share: 1_000 })
  const cron = new CronTasks({
    ...{ store: stores.cron, minter, partitions, storeNowMs, limit },
    trigger: new Trigger({ ...parts, atOnce: 1, onTriggered: () => {} }),
    ensureNames: (template) => names.ensure([template]),
    onScheduled: (wakeAtMs) => void scheduled.push(wakeAtMs),
  })
  const drain = async (): Promise<void> => {
    while ((await firer.fire()) > 0);
  }
  const close = async (): Promise<void> => {
    await Promise.all([database.close(), sure.close()])
  }
  return { cron, firer, duty, clock, fired, unblocked, scheduled, drain, close }
}

let names = 0

/** A definition that fires each hour and makes its tasks whatever came before. */
export function definition(over: Partial<CronDefinition> = {}): CronDefinition & CronPut {
  const {
    scheduledAtMs: _s,
    delayMs: _d,
    idempotencyKey: _k,
    requestHash: _h,
    traceparent: _t,
    tenant,
    ...template
  } = newTask()
  return {
    ...{ tenant, boundTo: null, name: `cron-${names++}`, enabled: true, template },
    ...{ expression: '0 * * * *', everyMs: null, timezone: 'UTC', overlap: 'queue', misfire: 'fire_once' },
    ...{ graceMs: 60_000, startsAtMs: null, endsAtMs: null, jitterMs: 0 },
    ...over,
  }
}
