import { systemClock } from '@duly/domain'
import { pino } from 'pino'
import { createDatabase } from '../../../../tests/support/database.js'
import { StoreTime } from '../kit/store-time.js'
import { ensureDays } from '../store/days.js'
import { Retention, type RetentionListener, type RetentionOptions } from '../upkeep/retention/retention.js'
import { openTestNode, type TestNode } from './test-node.js'

export const dayMs = 86_400_000

/** A node on a store whose time a test moves by days, and its retention. */
export interface VirtualStore {
  readonly url: string
  readonly node: TestNode
  /** Moves the store's time; the node has learned of it, and its days are there. */
  advance(days: number): Promise<void>
  /** One pass of the retention without pauses. Rejects if a chore of it failed. */
  retain(over?: Partial<RetentionOptions>, signal?: AbortSignal): Promise<PassFacts>
  /** The suffixes of the partitions, oldest first. */
  partitions(): Promise<string[]>
  close(): Promise<void>
}

export async function openVirtualStore(): Promise<VirtualStore> {
  const { url, drop } = await createDatabase()
  const time = await StoreTime.install(url)
  const node = await openTestNode(url)
  return {
    url,
    node,
    advance: async (days) => {
      await time.move(days * dayMs)
      await catchUp(node)
      const client = await node.admin.connect()
      await ensureDays(client).finally(() => client.release())
      await node.query('update store_marks set marked_at = now(), judge_after = now()')
    },
    retain: (over, signal) => retain(url, over, signal),
    partitions: async () => {
      const rows = await node.query<{ suffix: string }>(
        `select substr(inhrelid::regclass::text, 7) as suffix from pg_inherits where inhparent = 'tasks'::regclass order by 1`,
      )
      return rows.map(({ suffix }) => suffix)
    },
    close: async () => {
      await node.close()
      await time.close()
      await drop()
    },
  }
}

/** A look that took long is not believed. */
async function catchUp(node: TestNode): Promise<void> {
  const [now] = await node.query<{ ms: number }>(`select date_part('epoch', now()) * 1000 as ms`)
  do await node.storeClock.sync()
  while (node.storeClock.nowMs() < (now?.ms ?? 0) - 1_000)
}

/** What a pass told. */
export interface PassFacts {
  /** It was this one's turn, and it came to its end. */
  readonly isDone: boolean
  /** Rows removed, by kind. */
  readonly removed: Readonly<Record<string, number>>
  /** How long each replacement of partitions took, ms. */
  readonly swapsMs: readonly number[]
}

/** One pass. Rejects with what its chores logged as warnings. */
export async function retain(
  url: string,
  over: Partial<RetentionOptions> = {},
  signal = new AbortController().signal,
): Promise<PassFacts> {
  const warnings: string[] = []
  const log = pino({ level: 'warn' }, { write: (line) => void warnings.push(line) })
  const removed: Record<string, number> = {}
  const swapsMs: number[] = []
  let isDone = false
  const listener: RetentionListener = {
    removed: (kind, rows) => {
      removed[kind] = (removed[kind] ?? 0) + rows
    },
    swap: (landed, ms) => {
      if (landed) swapsMs.push(ms)
    },
    pass: ({ isComplete }) => {
      isDone = isComplete
    },
  }
  const bounds = { days: 30, share: 1, batch: 200, few: 5 }
  const retention = new Retention({ url, clock: systemClock, log, listener, ...bounds, ...over })
  await retention.runOnce(signal)
  if (warnings.length > 0) throw new Error(warnings.join(''))
  return { isDone, removed, swapsMs }
}
