import { collectDefaultMetrics, Registry } from 'prom-client'
import { type GaugeSources, Gauges } from './gauges.js'
import { Instruments } from './instruments.js'
import { LabelBound } from './label-bound.js'
import type { MetricName } from './metric-table.js'

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
  /** Where the gauges of a scrape come from. */
  ask(sources: Partial<GaugeSources>): void
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

class NodeMetrics implements Metrics {
  readonly #registry = new Registry()
  readonly #instruments = new Instruments(this.#registry)
  readonly #gauges = new Gauges(this.#instruments)
  readonly #types = new LabelBound()
  readonly #tenants = new LabelBound()
  readonly #workflows = new LabelBound()

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

  ask(sources: Partial<GaugeSources>): void {
    this.#gauges.ask(sources)
  }

  async render(): Promise<string> {
    await this.#gauges.collect()
    return this.#registry.metrics()
  }

  #observe(name: MetricName, ms: number | null, labels: Record<string, string> = {}): void {
    if (ms !== null) this.#instruments.histogram(name).observe(labels, Math.max(0, ms) / 1_000)
  }
}
