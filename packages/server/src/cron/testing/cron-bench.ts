import { systemClock, type Uuid } from '@duly/domain'
import { cleanUpLater } from '../../../../../tests/support/clean-up.js'
import { createDatabase } from '../../../../../tests/support/database.js'
import { StoreTime } from '../../kit/store-time.js'
import { openTestNode, type TestNode } from '../../testing/test-node.js'
import { type CronNode, openCronNode } from './cron-node.js'

export interface CronBenchOptions {
  /** Where the store's time stands still until it is moved; it runs from now on by default. */
  readonly at?: Date
  /** Definitions that there may be. */
  readonly limit?: number
}

/** A database whose time is moved, a node on it, and one that fires. */
export interface CronBench {
  readonly url: string
  readonly store: TestNode
  readonly time: StoreTime
  readonly one: CronNode
  /** Nothing that an earlier test left fires any more. */
  clear(): Promise<unknown>
  /** Moves the time, which the nodes hear of: the one, unless others are named. */
  advance(ms: number, nodes?: readonly CronNode[]): Promise<void>
  /** The same, and what is due by then is fired. */
  pass(ms: number): Promise<void>
  /** The unfinished tasks of a definition, oldest first. */
  openOf(id: Uuid): Promise<{ readonly id: Uuid; readonly status: string; readonly marked: boolean }[]>
  /** What became of its fire times, oldest first. */
  outcomesOf(id: Uuid): Promise<string[]>
}

/** For the calling test file; gone when the file is done. */
export async function openCronBench({ at, limit }: CronBenchOptions = {}): Promise<CronBench> {
  const { url, drop } = await createDatabase()
  const time = await StoreTime.install(url, at === undefined ? {} : { at })
  const store = await openTestNode(url)
  // where the store's time stands still, so does what its node takes for it
  const still = { between: { ...systemClock, monotonicMs: () => 0 } }
  const one = await openCronNode(url, {
    number: 1,
    ...(limit === undefined ? {} : { limit }),
    ...(at === undefined ? {} : still),
  })
  cleanUpLater(async () => {
    await Promise.all([one.close(), store.close(), time.close()])
    await drop()
  })
  const advance = async (ms: number, nodes: readonly CronNode[] = [one]): Promise<void> => {
    await time.move(ms)
    await Promise.all(nodes.map(({ clock }) => clock.sync()))
  }
  return {
    ...{ url, store, time, one, advance },
    clear: () => store.query('truncate cron_tasks, cron_tenants'),
    pass: async (ms) => {
      await advance(ms)
      await one.drain()
    },
    openOf: (id) =>
      store.query(
        `select id, status, cancel_requested_at is not null as marked from open_tasks where cron_id = $1 order by id`,
        [id],
      ),
    outcomesOf: async (id) =>
      (await one.cron.firings(id, null, { after: null, limit: 50 })).items.map(({ outcome }) => outcome).reverse(),
  }
}
