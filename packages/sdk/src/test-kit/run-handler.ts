import type { Metadata, TaskStatus } from '../client/records.js'
import type { AddedReceipt } from '../client/workflow-records.js'
import { type DependencyDefinitions, defineTask, type NoDependencies, type TaskDefinition } from '../define-task.js'
import { type Duration, toMs } from '../duration.js'
import { checkOptions, namesOf } from '../known-options.js'
import { Attempt, type Registered } from '../worker/attempt.js'
import { checkpointText } from '../worker/checkpoint-text.js'
import type { ErrorClassifier } from '../worker/classify.js'
import type { Handler } from '../worker/handler.js'
import { resolveWorkerOptions } from '../worker/options.js'
import type { Outcome } from '../worker/outcome.js'
import { Runner } from '../worker/runner.js'
import { Session } from '../worker/session.js'
import type { ContextServices, LogLevel } from '../worker/task-context.js'
import type { WireGrant } from '../worker/wire.js'
import { RecordedTasks, type Submission } from './recorded-tasks.js'
import {
  type AddedTask,
  addedTask,
  RecordedWorkflows,
  type SubmittedWorkflow,
  type WireNode,
} from './recorded-workflows.js'

export type { Submission } from './recorded-tasks.js'
export type { AddedTask, SubmittedWorkflow } from './recorded-workflows.js'

/** What the attempt is told; everything has a default. */
export interface RunHandlerOptions {
  /** Numbered from 1. */
  readonly attempt?: number
  /** Failures before this attempt; all earlier attempts unless given. */
  readonly failures?: number
  readonly taskId?: string
  /** The task id unless given. */
  readonly idempotencyKey?: string
  /** The fire time of a recurring task, or when it was asked to run; none unless given. */
  readonly scheduledAt?: Date | string
  /** The recurring task that made it; none unless given. */
  readonly cronId?: string
  readonly metadata?: Metadata
  readonly traceparent?: string
  /** What an earlier attempt saved. */
  readonly checkpoint?: unknown
  /** Makes it a task of a workflow: the results of those that it waited for, by their names. */
  readonly dependencyResults?: Readonly<Record<string, unknown>>
  /** How those ended; SUCCEEDED unless given. One that did not has no result. */
  readonly dependencyStatuses?: Readonly<Record<string, TaskStatus>>
  /** Its name in the workflow, and makes it a task of one. */
  readonly nodeName?: string
  /** Time limit, in real time; the definition's, or a minute. */
  readonly timeout?: Duration
  /** Cancels the task when it aborts. */
  readonly signal?: AbortSignal
  /** As the worker's option of that name. */
  readonly classifyError?: ErrorClassifier
  /** As the worker's option of that name; 4 s unless given. */
  readonly abortGrace?: Duration
}

export interface Progress {
  readonly percent: number
  readonly note: string | null
}

export interface LogLine {
  readonly level: LogLevel
  readonly message: string
}

/** What came of an attempt, and what it did on its way. */
export interface HandlerRun<Result> {
  /**
   * What the worker would report: `succeeded`, `failed` (`isRetryable`, `retryAfterMs`, `isTimedOut`, `error` in words), `snoozed`
   * (`delayMs`) or `cancelled`.
   */
  readonly outcome: Outcome
  /** The result as it travels, through JSON; undefined unless it succeeded. */
  readonly result: Result | undefined
  /** What was thrown, if it failed. */
  readonly error: unknown
  /** The handler ignored its signal past the grace: the outcome was decided without it. */
  readonly isStuck: boolean
  readonly progress: readonly Progress[]
  readonly logs: readonly LogLine[]
  /** Each value that was saved, the last one last. */
  readonly checkpoints: readonly unknown[]
  /** What it submitted by `context.submit`, in its workflow or outside of one. */
  readonly submitted: readonly Submission[]
  /** Workflows that it submitted by `context.workflow`. */
  readonly workflows: readonly SubmittedWorkflow[]
  /** Tasks that it added to its workflow. */
  readonly added: readonly AddedTask[]
}

const optionNames = namesOf<RunHandlerOptions>({
  ...{ attempt: true, failures: true, taskId: true, idempotencyKey: true, scheduledAt: true, cronId: true },
  ...{
    metadata: true,
    traceparent: true,
    checkpoint: true,
    dependencyResults: true,
    dependencyStatuses: true,
    nodeName: true,
    timeout: true,
    signal: true,
  },
  ...{ classifyError: true, abortGrace: true },
})

const defaultTimeout = '60s'
const leaseSeconds = 15

/**
 * Runs a handler once, as a worker would and without a server: the payload goes through JSON and the definition's schema, the
 * result through its other one, time limit and cancellation through the signal. Rejects never for what the handler does: its end
 * is a value.
 *
 * @throws RangeError when a duration, an instant or the task type is none; TypeError for an option that there is not
 */
export async function runHandler<
  PayloadIn,
  Payload,
  ResultIn,
  Result,
  Declared extends DependencyDefinitions = NoDependencies,
>(
  task: TaskDefinition<PayloadIn, Payload, ResultIn, Result, Declared> | string,
  handler: Handler<Payload, ResultIn, Declared>,
  payload: PayloadIn,
  options: RunHandlerOptions = {},
): Promise<HandlerRun<ResultIn>> {
  checkOptions('runHandler', options, { names: optionNames })
  const definition = typeof task === 'string' ? defineTask(task) : task
  // The runner decodes the payload with the definition's own schema before the handler sees it.
  const registered = { definition, handler } as unknown as Registered
  const grant = grantOf(registered.definition, payload, options)
  const record = new Recording<ResultIn>()
  await record.run(new Attempt({ grant, registered, session: session(), arrivedAt: performance.now() }), options)
  return record.told()
}

/** Keeps what one attempt does. */
class Recording<Result> {
  readonly #tasks = new RecordedTasks()
  readonly #workflows = new RecordedWorkflows(this.#tasks)
  readonly #progress: Progress[] = []
  readonly #logs: LogLine[] = []
  readonly #checkpoints: unknown[] = []
  readonly #added: AddedTask[] = []
  #outcome: Outcome | null = null
  #error: unknown
  #isStuck = false

  /** Resolves when the attempt has an outcome. */
  async run(attempt: Attempt, options: RunHandlerOptions): Promise<void> {
    const { classifyError, abortGrace, signal } = options
    const worker = resolveWorkerOptions({
      slots: 1,
      ...(classifyError === undefined ? {} : { classifyError }),
      ...(abortGrace === undefined ? {} : { abortGrace }),
    })
    const runner = new Runner(worker, this.#services(), {
      outcome: (_, outcome) => {
        this.#outcome ??= outcome
      },
      failed: (_, error) => {
        this.#error = error
      },
      stuck: () => {
        this.#isStuck = true
      },
      freed: () => {},
    })
    const cancel = () => runner.abort(attempt.grant.lease, 'cancel')
    runner.hold(attempt)
    signal?.addEventListener('abort', cancel, { once: true })
    // as in a worker that hears of it before the handler starts: it never does
    if (signal?.aborted) cancel()
    runner.start(attempt)
    await runner.whenIdle()
    signal?.removeEventListener('abort', cancel)
    runner.close()
  }

  told(): HandlerRun<Result> {
    const outcome = this.#outcome
    if (outcome === null) throw new Error('an attempt ended without an outcome')
    return {
      outcome,
      result: outcome.kind === 'succeeded' ? (JSON.parse(outcome.result) as Result) : undefined,
      error: this.#error,
      isStuck: this.#isStuck,
      progress: this.#progress,
      logs: this.#logs,
      checkpoints: this.#checkpoints,
      submitted: this.#tasks.submitted,
      workflows: this.#workflows.submitted,
      added: this.#added,
    }
  }

  #add(nodes: readonly WireNode[]): ReadonlyMap<string, AddedReceipt> {
    this.#added.push(...nodes.map(addedTask))
    const receipt = { status: 'BLOCKED', isReplay: false } as const
    return new Map(nodes.map(({ task_id: name }) => [name, { id: `task-added-${name}`, ...receipt }]))
  }

  #services(): ContextServices {
    return {
      tasks: this.#tasks,
      workflows: this.#workflows,
      progress: (_, percent, note) => void this.#progress.push({ percent, note }),
      log: (_, level, message) => void this.#logs.push({ level, message }),
      saveCheckpoint: async (_, value) => void this.#checkpoints.push(JSON.parse(checkpointText(value))),
      // all of them came along
      dependencyResults: async () => ({ results: {}, omitted: [] }),
      addTasks: async (_, texts) => this.#add(texts.map((text) => JSON.parse(text) as WireNode)),
      childrenOf: () => ({ submit: (task, payload, options) => this.#tasks.submitAny(task, payload, options) }),
    }
  }
}

function grantOf(
  { type, defaults }: Registered['definition'],
  payload: unknown,
  options: RunHandlerOptions,
): WireGrant {
  const { attempt = 1, taskId = 'task-under-test' } = options
  const timeoutMs = toMs(options.timeout ?? defaults.timeout ?? defaultTimeout)
  return {
    grant: 1,
    task_id: taskId,
    lease: `lease-${attempt}`,
    attempt,
    failures: options.failures ?? attempt - 1,
    task_type: type,
    queue: defaults.queue ?? 'default',
    payload: payload === undefined ? null : JSON.parse(JSON.stringify(payload)),
    timeout_ms: timeoutMs,
    deadline_at: new Date(Date.now() + timeoutMs).toISOString(),
    idempotency_key: options.idempotencyKey ?? taskId,
    scheduled_at: options.scheduledAt === undefined ? null : new Date(options.scheduledAt).toISOString(),
    cron_id: options.cronId ?? null,
    checkpoint: options.checkpoint ?? null,
    ...nodeOf(options),
    metadata: options.metadata ?? null,
    traceparent: options.traceparent ?? null,
  }
}

/** What makes it a task of a workflow. */
function nodeOf({ dependencyResults = {}, dependencyStatuses = {}, nodeName }: RunHandlerOptions): Partial<WireGrant> {
  const statuses = {
    ...Object.fromEntries(Object.keys(dependencyResults).map((name) => [name, succeeded])),
    ...dependencyStatuses,
  }
  if (nodeName === undefined && Object.keys(statuses).length === 0) return { dependency_results: {} }
  return {
    workflow_id: 'wf-under-test',
    node_name: nodeName ?? 'node-under-test',
    dependency_results: JSON.parse(JSON.stringify(dependencyResults)),
    dependency_statuses: statuses,
  }
}

const succeeded: TaskStatus = 'SUCCEEDED'

const session = () =>
  new Session({ worker_id: 'worker-under-test', heartbeat_seconds: leaseSeconds / 3, lease_seconds: leaseSeconds })
