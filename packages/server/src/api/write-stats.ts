import type { FigureRecord, Quantiles, StatsRecord } from '../model.js'
import { instant, toSeconds, type WritableObject, writeJson } from './write-json.js'

export function writeStats({ fromMs, toMs, totals, by, items }: StatsRecord): string {
  return writeJson({
    from: instant(fromMs),
    to: instant(toMs),
    window_seconds: toSeconds(Math.round(toMs - fromMs)),
    totals: figuresOf(totals),
    by,
    items: items.map((item) => ({ name: item.name, ...figuresOf(item) })),
  })
}

function figuresOf(figures: FigureRecord): WritableObject {
  return {
    submitted: figures.submitted,
    started: figures.started,
    succeeded: figures.succeeded,
    failed: figures.failed,
    dead: figures.dead,
    cancelled: figures.cancelled,
    retried: figures.retried,
    lost: figures.lost,
    timed_out: figures.timedOut,
    submitted_per_second: rounded(figures.submittedPerSecond),
    started_per_second: rounded(figures.startedPerSecond),
    finished_per_second: rounded(figures.finishedPerSecond),
    error_rate: figures.errorRate === null ? null : rounded(figures.errorRate),
    wait_seconds: quantilesOf(figures.waitMs),
    run_seconds: quantilesOf(figures.runMs),
    depth: figures.depth,
    running: figures.running,
  }
}

const quantilesOf = (quantiles: Quantiles | null): WritableObject | null =>
  quantiles && {
    p50: rounded(toSeconds(quantiles.p50)),
    p90: rounded(toSeconds(quantiles.p90)),
    p99: rounded(toSeconds(quantiles.p99)),
  }

/** Four digits tell all that these figures know. */
const rounded = (value: number): number => Number(value.toPrecision(4))
