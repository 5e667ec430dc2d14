import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type MetricEntry, type MetricName, metricTable } from './metric-table.js'

/** The prom-client objects behind the table, made once. */
export class Instruments {
  readonly #counters = new Map<MetricName, Counter>()
  readonly #gauges = new Map<MetricName, Gauge>()
  readonly #histograms = new Map<MetricName, Histogram>()

  constructor(registry: Registry) {
    for (const [name, entry] of Object.entries(metricTable) as [MetricName, MetricEntry][]) {
      const base = { name, help: entry.help, labelNames: [...entry.labels], registers: [registry] }
      if (entry.kind === 'counter') this.#counters.set(name, new Counter(base))
      else if (entry.kind === 'gauge') this.#gauges.set(name, new Gauge(base))
      else this.#histograms.set(name, new Histogram({ ...base, buckets: [...(entry.buckets ?? [])] }))
    }
  }

  counter(name: MetricName): Counter {
    return found(this.#counters.get(name), name)
  }

  gauge(name: MetricName): Gauge {
    return found(this.#gauges.get(name), name)
  }

  histogram(name: MetricName): Histogram {
    return found(this.#histograms.get(name), name)
  }
}

function found<T>(instrument: T | undefined, name: MetricName): T {
  if (instrument === undefined) throw new Error(`${name} is used as another kind than the table says`)
  return instrument
}
