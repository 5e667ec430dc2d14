import { type Duration, toMs } from '../duration.js'
import { InvalidResultError, ResultTimeoutError, TaskFailedError } from '../errors.js'
import { type StandardSchema, validate } from '../standard-schema.js'
import type { Explanation } from './explanations.js'
import { type CancelReceipt, isFinished, type LogLine, type SubmitReceipt, type TaskRecord } from './records.js'
import type { LogOptions } from './task-logs.js'
import type { Tasks } from './tasks.js'

export interface WaitOptions {
  /** Give up waiting after this; without it the wait has no end. The task goes on in either case. */
  readonly timeout?: Duration
  readonly signal?: AbortSignal
}

/** What a handle is made of. */
export interface HandleSource<Result> {
  readonly tasks: Tasks
  readonly taskType: string
  readonly receipt: SubmitReceipt
  readonly isReplay: boolean
  readonly result: StandardSchema<unknown, Result> | undefined
}

/** A task that was submitted: wait for it, look at it, cancel it. */
export class TaskHandle<Result = unknown> {
  readonly id: string
  readonly receipt: SubmitReceipt
  /** True when an earlier submission with the same idempotency key made the task. */
  readonly isReplay: boolean
  readonly #source: HandleSource<Result>

  constructor(source: HandleSource<Result>) {
    this.id = source.receipt.id
    this.receipt = source.receipt
    this.isReplay = source.isReplay
    this.#source = source
  }

  /**
   * The task's result, as soon as it has one: by repeated long polls of at most 30 s.
   *
   * @throws TaskFailedError when it ended FAILED, DEAD or CANCELLED; ResultTimeoutError; InvalidResultError
   */
  async result(options: WaitOptions = {}): Promise<Result> {
    const record = await this.#source.tasks.wait(this.id, options)
    if (!isFinished(record.status)) {
      throw new ResultTimeoutError(this.id, toMs(options.timeout ?? Number.MAX_SAFE_INTEGER))
    }
    if (record.status !== 'SUCCEEDED') throw new TaskFailedError(record)
    const checked = await validate(this.#source.result, record.result)
    if (checked.issues !== undefined) throw new InvalidResultError(this.#source.taskType, checked.issues)
    return checked.value
  }

  get(): Promise<TaskRecord> {
    return this.#source.tasks.get(this.id)
  }

  /** Why it stands as it stands: what it waits for, who runs it, or how it ended. */
  explain(): Promise<Explanation> {
    return this.#source.tasks.explain(this.id)
  }

  /** What its handlers logged, the oldest line first; with `follow` until it has ended. */
  logs(options: LogOptions = {}): AsyncGenerator<LogLine, void> {
    return this.#source.tasks.logs(this.id, options)
  }

  /** Cancels it: at once when it waits; a running handler is told through its signal. */
  cancel(): Promise<CancelReceipt> {
    return this.#source.tasks.cancel(this.id)
  }
}
