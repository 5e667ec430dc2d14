import { type Cost, measure } from './measure.js'
import type { LineName, Options } from './options.js'
import { workflowSize } from './payload.js'
import type { Submission } from './producer.js'
import type { Stack } from './stack.js'
import type { Percentiles } from './stats.js'

/** What one line gave in one run. */
export interface LineResult extends Cost {
  readonly line: LineName
  /** From sending a submission to its answer, ms. */
  readonly answered: Percentiles | null
  /** Latency line alone, ms. */
  readonly start: StartDelays | null
}

export interface StartDelays {
  /** From the producer's sending to the handler's start. */
  readonly sent: Percentiles
  /** From created_at to started_at in the store. */
  readonly stored: Percentiles
  /** How late the producer's own loop was. */
  readonly producer: Percentiles
}

/** A run: warm-up, then each line in turn; ends with the proof that all was delivered exactly. */
export class Run {
  readonly #stack: Stack
  readonly #options: Options
  #submitted = 0

  constructor(stack: Stack, options: Options) {
    this.#stack = stack
    this.#options = options
  }

  async warmUp(): Promise<void> {
    const { tasks, batch, batchesInFlight, inFlight } = this.#options
    await this.#stack.startWorker()
    await this.#whole(() => this.#stack.producer.call('single', { count: tasks.warmUp, inFlight }))
    await this.#whole(() =>
      this.#stack.producer.call('batch', { count: tasks.warmUp, size: batch, inFlight: batchesInFlight }),
    )
    await this.#stack.worker.call('seen', undefined)
  }

  line(name: LineName): Promise<LineResult> {
    return this[name]()
  }

  /** All that was accepted ran exactly once. */
  async verify(): Promise<void> {
    const { repeats } = await this.#stack.worker.call('seen', undefined)
    if (repeats > 0) throw new Error(`${repeats} tasks were started more than once`)
    await this.#stack.database.requireExactDelivery(this.#submitted)
  }

  /** The whole life, submitted one by one. */
  private async single(): Promise<LineResult> {
    const { tasks, inFlight } = this.#options
    return this.#life('single', tasks.single, () =>
      this.#stack.producer.call('single', { count: tasks.single, inFlight }),
    )
  }

  /** The whole life, submitted in batches. */
  private async batch(): Promise<LineResult> {
    const { tasks, batch: size, batchesInFlight: inFlight } = this.#options
    return this.#life('batch', tasks.batch, () =>
      this.#stack.producer.call('batch', { count: tasks.batch, size, inFlight }),
    )
  }

  /** The whole life of tasks that are nodes of workflows. */
  private async workflow(): Promise<LineResult> {
    const { tasks, inFlight } = this.#options
    const workflows = Math.ceil(tasks.workflow / workflowSize)
    const inFlightOfThem = Math.max(1, Math.ceil(inFlight / workflowSize))
    return this.#life('workflow', workflows * workflowSize, () =>
      this.#stack.producer.call('workflow', { count: workflows, inFlight: inFlightOfThem }),
    )
  }

  /** From submission to start at a steady rate below saturation. */
  private async latency(): Promise<LineResult> {
    const { rate, seconds } = this.#options
    const { database, producer, worker } = this.#stack
    const since = await database.now()
    let lateness: Percentiles | undefined
    const life = await this.#life('latency', Math.round(rate * seconds), async () => {
      const submission = await producer.call('openLoop', { rate, seconds })
      lateness = submission.lateness
      return submission
    })
    const { delays } = await worker.call('seen', undefined)
    if (lateness === undefined) throw new Error('the open loop did not run')
    return { ...life, start: { sent: delays, stored: await database.startDelays(since), producer: lateness } }
  }

  /** So many wait; then the worker comes. */
  private async drain(): Promise<LineResult> {
    const { tasks, batch: size, batchesInFlight: inFlight } = this.#options
    const { producer, worker } = this.#stack
    await worker.call('stop', undefined)
    await producer.call('batch', { count: tasks.drain, size, inFlight })
    this.#submitted += tasks.drain
    const cost = await measure(this.#stack, tasks.drain, async () => {
      await this.#stack.startWorker()
      await this.#finished()
    })
    return { ...cost, line: 'drain', answered: null, start: null }
  }

  async #life(line: LineName, count: number, submit: () => Promise<Submission>): Promise<LineResult> {
    await this.#stack.worker.call('seen', undefined)
    let answered: Percentiles | null = null
    const cost = await measure(this.#stack, count, async () => {
      answered = (await this.#whole(submit)).answered
    })
    return { ...cost, line, answered, start: null }
  }

  /** Submits and waits until all of it is finished in the store. */
  async #whole<S extends Submission>(submit: () => Promise<S>): Promise<S> {
    const submission = await submit()
    this.#submitted += submission.count
    await this.#finished()
    return submission
  }

  async #finished(): Promise<void> {
    await this.#stack.worker.call('reached', { count: this.#submitted })
    await this.#stack.database.untilAllFinished()
  }
}
