import type { LineResult } from './lines.js'
import type { CpuPerTask } from './measure.js'
import type { LineName, Options } from './options.js'
import { type Spread, spreadOf } from './stats.js'

/** A line over all runs; the names carry the units. */
export interface LineSummary {
  readonly line: LineName
  readonly nodes: number
  readonly figures: Readonly<Record<string, Spread>>
}

const figures: Readonly<Record<string, (result: LineResult) => number | undefined>> = {
  'tasks/s': ({ tasksPerSecond }) => tasksPerSecond,
  'postgres cpu µs/task': ({ cpu }) => cpu.postgres,
  'server cpu µs/task': ({ cpu }) => cpu.server,
  'worker cpu µs/task': ({ cpu }) => cpu.worker,
  'producer cpu µs/task': ({ cpu }) => cpu.producer,
  'all cpu µs/task': ({ cpu }) => total(cpu),
  'others on the machine %': ({ others }) => others * 100,
  'wal bytes/task': ({ walBytes }) => walBytes,
  'server rss MB': ({ serverMb }) => serverMb.nowMb,
  'server rss at most MB': ({ serverMb }) => serverMb.mostMb,
  'answer p50 ms': ({ answered }) => answered?.p50,
  'answer p99 ms': ({ answered }) => answered?.p99,
  'sent to start p50 ms': ({ start }) => start?.sent.p50,
  'sent to start p90 ms': ({ start }) => start?.sent.p90,
  'sent to start p99 ms': ({ start }) => start?.sent.p99,
  'sent to start max ms': ({ start }) => start?.sent.max,
  'store created to started p50 ms': ({ start }) => start?.stored.p50,
  'store created to started p99 ms': ({ start }) => start?.stored.p99,
  'producer late p99 ms': ({ start }) => start?.producer.p99,
}

function total({ postgres, server, worker, producer }: CpuPerTask): number {
  return postgres + server + worker + producer
}

/** Median and spread of each figure of each line, for each number of nodes. */
export function summarise(
  results: readonly LineResult[],
  { lines, nodes }: Pick<Options, 'lines' | 'nodes'>,
): readonly LineSummary[] {
  return lines.flatMap((line) =>
    nodes.map((count) => ({
      line,
      nodes: count,
      figures: figuresOf(results.filter((result) => result.line === line && result.nodes === count)),
    })),
  )
}

function figuresOf(results: readonly LineResult[]): Readonly<Record<string, Spread>> {
  const entries = Object.entries(figures).flatMap(([name, read]): [string, Spread][] => {
    const values = results.map(read).filter((value) => value !== undefined)
    return values.length === 0 ? [] : [[name, spreadOf(values)]]
  })
  return Object.fromEntries(entries)
}

/** The summary as a Markdown table, readable as it stands: one column a line, one row a figure, `median (least–most)`. */
export function table(summaries: readonly LineSummary[]): string {
  const names = Object.keys(figures).filter((name) => summaries.some((summary) => summary.figures[name] !== undefined))
  const head = ['', ...summaries.map(({ line, nodes }) => (nodes === 1 ? line : `${line}, ${nodes} nodes`))]
  const rows = names.map((name) => [name, ...summaries.map((summary) => cell(summary.figures[name]))])
  const widths = head.map((_, column) => Math.max(3, ...[head, ...rows].map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) =>
    `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

function cell(spread: Spread | undefined): string {
  if (spread === undefined) return '–'
  const { median, least, most } = spread
  return least === most ? digits(median) : `${digits(median)} (${digits(least)}–${digits(most)})`
}

/** Three significant digits below 100, whole numbers from there. */
function digits(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
