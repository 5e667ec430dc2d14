import type { Figures, Quantiles, StatsRecord } from '@duly/sdk'
import { table } from './table.js'

const HEADINGS = [
  'SUBMITTED/s',
  'STARTED/s',
  'FINISHED/s',
  'ERRORS',
  'WAIT p50/p99',
  'RUN p50/p99',
  'WAITING',
  'RUNNING',
]

/** One line for all, and one for each name. Rates are per second. */
export function renderStats({ from, to, totals, by, items }: StatsRecord): string {
  const rows = [['(all)', ...columns(totals)], ...items.map((item) => [item.name, ...columns(item)])]
  const first = by === null ? '' : by.replace('_', ' ').toUpperCase()
  return `${from.toISOString()} to ${to.toISOString()}\n\n${table([first, ...HEADINGS], rows)}`
}

function columns(figures: Figures): unknown[] {
  const { submittedPerSecond, startedPerSecond, finishedPerSecond, errorRate } = figures
  return [
    ...[submittedPerSecond, startedPerSecond, finishedPerSecond].map(rate),
    errorRate === null ? null : `${(errorRate * 100).toFixed(1)} %`,
    range(figures.waitSeconds),
    range(figures.runSeconds),
    figures.depth,
    figures.running,
  ]
}

const rate = (perSecond: number): string => (perSecond < 10 ? perSecond.toFixed(2) : perSecond.toFixed(0))

const range = (quantiles: Quantiles | null): string | null =>
  quantiles && `${seconds(quantiles.p50)} / ${seconds(quantiles.p99)}`

function seconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1_000)} ms`
  return value < 120 ? `${value.toFixed(1)} s` : `${Math.round(value / 60)} min`
}
