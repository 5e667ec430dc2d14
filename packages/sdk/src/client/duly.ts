import { BulkOperations } from './bulk.js'
import { Cron } from './cron.js'
import { DeadLetters } from './dlq.js'
import type { ClusterRecord, StatsRecord } from './fleet-records.js'
import { HttpClient } from './http.js'
import { ApiKeys } from './keys.js'
import { type DulyOptions, type ResolvedOptions, resolveOptions } from './options.js'
import { Queues } from './queues.js'
import { readStats, type StatsOptions } from './stats.js'
import type { AnyTask, SubmitArguments, SubmitOptions, SubmitResult } from './submission.js'
import type { TaskHandle } from './task-handle.js'
import { Tasks } from './tasks.js'
import { fromWire } from './wire.js'
import { Workers } from './workers.js'
import { WorkflowBuilder, type WorkflowOptions } from './workflow-builder.js'
import { Workflows } from './workflows.js'

/** The client of a Duly server. One per process is enough: it keeps its connections open and reuses them. */
export class Duly {
  readonly options: ResolvedOptions
  readonly tasks: Tasks
  readonly dlq: DeadLetters
  readonly bulk: BulkOperations
  readonly workflows: Workflows
  readonly cron: Cron
  readonly queues: Queues
  readonly workers: Workers
  readonly keys: ApiKeys
  readonly #http: HttpClient

  /** @throws RangeError when an option is wrong; nothing is sent yet */
  constructor(options: DulyOptions = {}) {
    this.options = resolveOptions(options)
    this.#http = new HttpClient(this.options)
    this.tasks = new Tasks(this.#http)
    this.dlq = new DeadLetters(this.#http)
    this.bulk = new BulkOperations(this.#http)
    this.workflows = new Workflows(this.#http, this.tasks)
    this.cron = new Cron(this.#http, this.tasks)
    this.queues = new Queues(this.#http)
    this.workers = new Workers(this.#http)
    this.keys = new ApiKeys(this.#http)
  }

  /** Short for `duly.tasks.submit`. */
  submit<Task extends AnyTask | string>(
    task: Task,
    ...more: SubmitArguments<Task, SubmitOptions>
  ): Promise<TaskHandle<SubmitResult<Task>>> {
    return this.tasks.submit(task, ...more)
  }

  /**
   * A workflow to put together and submit: `workflow.task(name, definition, payload, { after: […] })`, then `workflow.submit()`.
   *
   * @throws TypeError for an unknown option
   */
  workflow(name: string, options: WorkflowOptions = {}): WorkflowBuilder {
    return new WorkflowBuilder({ workflows: this.workflows }, name, options)
  }

  /** Rates, percentiles and counts of a window, and what waits and runs now. */
  stats(options: StatsOptions = {}): Promise<StatsRecord> {
    return readStats(this.#http, options)
  }

  /** Nodes, timer partitions and their leaders, shards and adapters: it takes a key that is bound to no tenant. */
  async cluster(): Promise<ClusterRecord> {
    const answer = await this.#http.call({ method: 'GET', path: '/cluster', repeatable: true })
    return fromWire(answer.body) as ClusterRecord
  }

  /** Ends the connections; requests under way fail. */
  close(): void {
    this.#http.close()
  }
}
