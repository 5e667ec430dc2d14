import { markdownTable } from '@duly/contract'
import { maxLabelValues, otherLabel } from './label-bound.js'
import { type MetricEntry, metricTable } from './metric-table.js'

/** The text of docs/reference/metrics.md. A test keeps file and table equal. */
export function renderMetrics(): string {
  const rows = Object.entries(metricTable).map(([name, entry]: [string, MetricEntry]) => [
    `\`${name}\``,
    entry.kind,
    entry.labels.map((label) => `\`${label}\``).join(', '),
    entry.help,
  ])
  return [
    '# Metrics',
    '',
    'Generated from `packages/server/src/telemetry/metric-table.ts` by `npm run generate`; do not edit.',
    '',
    'Each node answers `GET /metrics` in the Prometheus text format. Counters and histograms tell what the node saw itself:',
    "sums over the nodes are the fleet's. The gauges of queues and slots are read from the store that all nodes share, so",
    'every node tells the same: take them once, e.g. `max by (queue, priority) (duly_queue_depth)`, and never sum them over',
    'the nodes.',
    '',
    `Task types, tenants and queues take at most ${maxLabelValues} values each on a node; what comes later counts as`,
    `\`${otherLabel}\`. Beside these stand the usual process metrics (memory, CPU, event-loop lag), a node's own.`,
    '',
    ...markdownTable(['Metric', 'Kind', 'Labels', 'Meaning'], rows),
    '',
  ].join('\n')
}
