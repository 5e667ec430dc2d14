import { type Duration, toMs } from '../duration.js'
import { checkOptions, namesOf } from '../known-options.js'
import type { StatsRecord } from './fleet-records.js'
import type { HttpClient } from './http.js'
import { fromWire } from './wire.js'

export interface StatsOptions {
  /** How far back, from a minute to 7 days; an hour unless given. */
  readonly window?: Duration
  /** Also by name: the 100 with the most events. */
  readonly by?: 'queue' | 'task_type' | 'tenant'
}

const names = namesOf<StatsOptions>({ window: true, by: true })
const elsewhere = { window_seconds: 'window', group_by: 'by' }

/** `duly.stats()`: rates, percentiles and counts of a window. */
export async function readStats(http: HttpClient, options: StatsOptions): Promise<StatsRecord> {
  checkOptions('stats', options, { names, elsewhere })
  const { window, by } = options
  const query = new URLSearchParams()
  if (window !== undefined) query.set('window_seconds', String(Math.round(toMs(window) / 1_000)))
  if (by !== undefined) query.set('by', by)
  const answer = await http.call({ method: 'GET', path: `/stats?${query}`, repeatable: true })
  const record = fromWire(answer.body) as Omit<StatsRecord, 'from' | 'to'> & {
    readonly from: string
    readonly to: string
  }
  return { ...record, from: new Date(record.from), to: new Date(record.to) }
}
