import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { LabelBound } from './label-bound.js'
import { type MetricEntry, type MetricName, metricTable } from './metric-table.js'

/** Depth of one queue at the moment of a scrape. */
export interface QueueSample {
  readonly queue: string
  readonly depthByPriority: Readonly<Record<'high' | 'medium' | 'low', number>>
  /** Age of the oldest PENDING task in ms, by the store's clock; null when there is none. */
  readonly oldestAgeMs: number | null
}

/** Slots of the live sessions at the moment of a scrape. */
export interface SlotSample {
  readonly busy: number
  readonly total: number
}

export interface HttpSample {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly seconds: number
}

/** What is known after a pass of the retention. */
export interface RetentionSample {
  /** No chore of it failed. */
  readonly isComplete: boolean
  readonly ms: number
  /** When it ended. */
  readonly atMs: number
  /** How long ago the oldest partition begins. */
  readonly oldestMs: number
}

/** What is known at a start. A wait of null is not observed. */
export interface StartSample {
  readonly taskType: string
  /** Only for the first start of a task that was due at once. */
  readonly submitToStartMs: number | null
  readonly dueToStartMs: number | null
}

export interface FinishSample {
  readonly taskType: string
  /** Final status of the task; counted in lower case. */
  readonly status: string
  /** Length of the last attempt; null when the task ended without one. */
  readonly executionMs: number | null
}

export interface WorkflowSample {
  readonly name: string
  /** Final status; counted in lower case. */
  readonly status: string
  readonly durationMs: number
}

/** What the parts of a node tell. None of these calls throws or waits. */
export interface Metrics {
  taskSubmitted(taskType: string, tenant: string): void
  taskStarted(sample: StartSample): void
  taskFinished(sample: FinishSample): void
  taskRetried(taskType: string): void
  taskTimedOut(taskType: string): void
  leasesLost(count: number): void
  /** Promotions, by how late each was. */
  promoted(latenessMs: readonly number[]): void
  /** One commit of intake. */
  commit(tasks: number, ms: number): void
  /** One claim. */
  claim(tasks: number, ms: number): void
  /** Rows that the retention removed. */
  retentionRemoved(kind: string, rows: number): void
  /** One try to replace partitions. */
  retentionSwap(landed: boolean, ms: number): void
  /** One pass of the retention; `atMs` and the age of the oldest partition by the store's clock. */
  retentionPass(pass: RetentionSample): void
  /** A workflow of which no task is open any more. */
  workflowFinished(sample: WorkflowSample): void
  /** Fire times that were judged, by what became of them. */
  cronFirings(outcome: string, count: number): void
  /** How late the task of a firing was made. */
  cronLateness(ms: number): void
  /** Definitions that could not be evaluated. */
  cronErrors(count: number): void
  httpRequest(sample: HttpSample): void
  /** Where depths come from; asked at each scrape. A source that fails leaves its gauges out of the answer. */
  setQueueSource(source: () => Promise<readonly QueueSample[]>): void
  setSlotSource(source: () => Promise<SlotSample>): void
  /** Dead letters by queue. */
  setLetterSource(source: () => Promise<ReadonlyMap<string, number>>): void
  /** How many workflows run. */
  setWorkflowSource(source: () => Promise<number>): void
  /** How many timer partitions the node leads. */
  setLedSource(source: () => number): void
  /** The text of a scrape. */
  render(): Promise<string>
  readonly contentType: string
}

export interface MetricsOptions {
  /** Also memory, CPU and event-loop lag of the process. Default true. */
  readonly process?: boolean
}

/** Makes the metrics of one node in a registry of their own: several nodes can live in one process. */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  return new NodeMetrics(options.process ?? true)
}

/** A scrape waits this long for the store; then it shows what the node knows by itself, and the last figures of the store. */
const patienceMs = 2_000

class NodeMetrics implements Metrics {
  readonly #registry = new Registry()
  readonly #instruments = new Instruments(this.#registry)
  readonly #types = new LabelBound()
  readonly #tenants = new LabelBound()
  readonly #queues = new LabelBound()
  readonly #workflows = new LabelBound()
  #queueSource: () => Promise<readonly QueueSample[]> = async () => []
  #ledSource: () => number = () => 0
  #workflowSource: () => Promise<number> = async () => 0
  #slotSource: () => Promise<SlotSample> = async () => ({ busy: 0, total: 0 })
  #letterSource: () => Promise<ReadonlyMap<string, number>> = async () => new Map()

  constructor(withProcess: boolean) {
    if (withProcess) collectDefaultMetrics({ register: this.#registry })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  taskSubmitted(taskType: string, tenant: string): void {
    const labels = { task_type: this.#types.of(taskType), tenant: this.#tenants.of(tenant) }
    this.#instruments.counter('duly_tasks_submitted_total').inc(labels)
  }

  taskStarted({ taskType, submitToStartMs, dueToStartMs }: StartSample): void {
    const labels = { task_type: this.#types.of(taskType) }
    this.#instruments.counter('duly_tasks_started_total').inc(labels)
    this.#observe('duly_submit_to_start_seconds', submitToStartMs, labels)
    this.#observe('duly_due_to_start_seconds', dueToStartMs, labels)
  }

  taskFinished({ taskType, status, executionMs }: FinishSample): void {
    const labels = { task_type: this.#types.of(taskType) }
    this.#instruments.counter('duly_tasks_finished_total').inc({ ...labels, outcome: status.toLowerCase() })
    this.#observe('duly_execution_seconds', executionMs, labels)
  }

  taskRetried(taskType: string): void {
    this.#instruments.counter('duly_task_retries_total').inc({ task_type: this.#types.of(taskType) })
  }

  taskTimedOut(taskType: string): void {
    this.#instruments.counter('duly_task_timeouts_total').inc({ task_type: this.#types.of(taskType) })
  }

  leasesLost(count: number): void {
    this.#instruments.counter('duly_leases_lost_total').inc(count)
  }

  promoted(latenessMs: readonly number[]): void {
    for (const ms of latenessMs) this.#observe('duly_due_to_promotion_seconds', ms)
  }

  commit(tasks: number, ms: number): void {
    this.#instruments.histogram('duly_commit_batch_tasks').observe(tasks)
    this.#observe('duly_commit_seconds', ms)
  }

  claim(tasks: number, ms: number): void {
    this.#instruments.histogram('duly_claim_batch_tasks').observe(tasks)
    this.#observe('duly_claim_seconds', ms)
  }

  retentionRemoved(kind: string, rows: number): void {
    this.#instruments.counter('duly_retention_removed_rows_total').inc({ kind }, rows)
  }

  retentionSwap(landed: boolean, ms: number): void {
    this.#observe('duly_retention_swap_seconds', ms, { outcome: landed ? 'landed' : 'given_up' })
  }

  retentionPass({ isComplete, ms, atMs, oldestMs }: RetentionSample): void {
    this.#observe('duly_retention_pass_seconds', ms)
    this.#instruments.gauge('duly_retention_oldest_day_seconds').set(oldestMs / 1_000)
    if (isComplete) this.#instruments.gauge('duly_retention_last_success_seconds').set(atMs / 1_000)
  }

  workflowFinished({ name, status, durationMs }: WorkflowSample): void {
    const labels = { workflow: this.#workflows.of(name) }
    this.#instruments.counter('duly_workflows_finished_total').inc({ ...labels, outcome: status.toLowerCase() })
    this.#observe('duly_workflow_seconds', durationMs, labels)
  }

  cronFirings(outcome: string, count: number): void {
    this.#instruments.counter('duly_cron_firings_total').inc({ outcome }, count)
  }

  cronLateness(ms: number): void {
    this.#observe('duly_cron_lateness_seconds', ms)
  }

  cronErrors(count: number): void {
    this.#instruments.counter('duly_cron_errors_total').inc(count)
  }

  httpRequest({ method, route, status, seconds }: HttpSample): void {
    this.#instruments.histogram('duly_http_request_seconds').observe({ method, route, status: String(status) }, seconds)
  }

  setQueueSource(source: () => Promise<readonly QueueSample[]>): void {
    this.#queueSource = source
  }

  setSlotSource(source: () => Promise<SlotSample>): void {
    this.#slotSource = source
  }

  setLetterSource(source: () => Promise<ReadonlyMap<string, number>>): void {
    this.#letterSource = source
  }

  setWorkflowSource(source: () => Promise<number>): void {
    this.#workflowSource = source
  }

  setLedSource(source: () => number): void {
    this.#ledSource = source
  }

  async render(): Promise<string> {
    this.#instruments.gauge('duly_partitions_led').set(this.#ledSource())
    const ofStore = [this.#collectQueues(), this.#collectSlots(), this.#collectLetters(), this.#collectWorkflows()]
    const collected = Promise.all(ofStore)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, patienceMs)
    })
    await Promise.race([collected, late]).finally(() => clearTimeout(timer))
    return this.#registry.metrics()
  }

  #observe(name: MetricName, ms: number | null, labels: Record<string, string> = {}): void {
    if (ms !== null) this.#instruments.histogram(name).observe(labels, Math.max(0, ms) / 1_000)
  }

  /** Queues beyond the bound are summed up as `other`; the age of `other` is that of its oldest. */
  async #collectQueues(): Promise<void> {
    const depth = this.#instruments.gauge('duly_queue_depth')
    const oldest = this.#instruments.gauge('duly_queue_oldest_seconds')
    const samples = await this.#queueSource().catch(() => [])
    depth.reset()
    oldest.reset()
    const ages = new Map<string, number>()
    for (const { queue: name, depthByPriority, oldestAgeMs } of samples) {
      const queue = this.#queues.of(name)
      for (const [priority, count] of Object.entries(depthByPriority)) depth.inc({ queue, priority }, count)
      ages.set(queue, Math.max(ages.get(queue) ?? 0, oldestAgeMs ?? 0))
    }
    for (const [queue, ageMs] of ages) oldest.set({ queue }, ageMs / 1_000)
  }

  async #collectLetters(): Promise<void> {
    const gauge = this.#instruments.gauge('duly_dead_letters')
    const letters = await this.#letterSource().catch(() => new Map<string, number>())
    gauge.reset()
    for (const [queue, count] of letters) gauge.inc({ queue: this.#queues.of(queue) }, count)
  }

  async #collectWorkflows(): Promise<void> {
    const open = await this.#workflowSource().catch(() => null)
    if (open !== null) this.#instruments.gauge('duly_workflows_open').set(open)
  }

  async #collectSlots(): Promise<void> {
    const sample = await this.#slotSource().catch(() => null)
    if (sample === null) return
    this.#instruments.gauge('duly_worker_slots_busy').set(sample.busy)
    this.#instruments.gauge('duly_worker_slots_total').set(sample.total)
  }
}

/** The prom-client objects behind the table, made once. */
class Instruments {
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
