import { hostname } from 'node:os'
import { type Duration, toMs } from '../duration.js'
import { checkOptions, namesOf, type OptionNames } from '../known-options.js'
import type { ErrorClassifier } from './classify.js'

/** Where a worker writes what happens to it; a `pino` logger fits through a one-line adapter. */
export interface WorkerLogger {
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
  error(message: string, fields?: object): void
}

/** The attempt an error belongs to; absent for errors of the connection. */
export interface ErrorContext {
  readonly taskId: string
  readonly taskType: string
  readonly attempt: number
}

export interface WorkerOptions {
  /** Queues to serve; those of the definitions that it handles (`default` for the rest) unless given. */
  readonly queues?: readonly string[]
  /** Tasks run at a time, 1 to 10,000; 10 unless given. */
  readonly slots?: number
  /** Shown in the fleet's list; the host's name and the process id unless given. */
  readonly name?: string
  /** Version of the application, shown beside the name. */
  readonly version?: string
  /** How long `stop` lets handlers finish before it gives their tasks back; 25 s unless given. */
  readonly grace?: Duration
  /** Interval of the heartbeat; the server's default (5 s, a lease of 15 s) unless given. */
  readonly heartbeat?: Duration
  /** Longest hold of a poll, at most 60 s; 30 s unless given. */
  readonly pollWait?: Duration
  /** How long a handler may take to obey its signal before it is reported without it; 4 s, below the server's own 5 s. */
  readonly abortGrace?: Duration
  /** Which errors are not worth another try; none unless given. `classifyHttpError` suits handlers that call HTTP services. */
  readonly classifyError?: ErrorClassifier
  /** Told of every error: of handlers (with the attempt) and of the connection (without). */
  readonly onError?: (error: unknown, context?: ErrorContext) => void
  /**
   * Unless given, an outage of the server is told on stderr, once, and once that it is over (or to the listeners of the events
   * `outage` and `recovered`, if there are any); `null` or `false`: nothing is told.
   */
  readonly logger?: WorkerLogger | null | false
  /** Slots taken by stuck handlers from which on the event `too_many_stuck` is emitted; half of the slots unless given. */
  readonly maxStuck?: number
  /** Longest result, bytes of JSON; 1 MiB unless given, as the server's default. */
  readonly maxResultBytes?: number
}

export interface ResolvedWorkerOptions {
  /** Null: those of the definitions. */
  readonly queues: readonly string[] | null
  readonly slots: number
  readonly name: string
  readonly host: string
  readonly version: string | undefined
  readonly graceMs: number
  readonly heartbeatMs: number | undefined
  readonly pollWaitMs: number
  readonly abortGraceMs: number
  readonly classifyError: ErrorClassifier
  readonly onError: (error: unknown, context?: ErrorContext) => void
  readonly logger: WorkerLogger
  /** Whether nobody said where to write. */
  readonly isLoggerDefault: boolean
  readonly maxStuck: number
  readonly maxResultBytes: number
}

const SILENT: WorkerLogger = Object.freeze({ info: () => {}, warn: () => {}, error: () => {} })

const optionNames: OptionNames = {
  names: namesOf<WorkerOptions>({
    ...{ queues: true, slots: true, name: true, version: true, grace: true, heartbeat: true, pollWait: true },
    ...{ abortGrace: true, classifyError: true, onError: true, logger: true, maxStuck: true, maxResultBytes: true },
  }),
  elsewhere: { concurrency: 'slots', grace_ms: 'grace', heartbeat_seconds: 'heartbeat', poll_wait_seconds: 'pollWait' },
}

/** @throws RangeError naming every option that is wrong; TypeError for one that is unknown */
export function resolveWorkerOptions(options: WorkerOptions): ResolvedWorkerOptions {
  checkOptions('Worker', options, optionNames)
  const { queues = null, slots = 10 } = options
  const pollWaitMs = toMs(options.pollWait ?? 30_000)
  const maxStuck = options.maxStuck ?? Math.max(1, Math.ceil(slots / 2))
  const wrong: string[] = []
  if (queues?.length === 0) wrong.push('queues: none given')
  if (!isWholeWithin(slots, 1, 10_000)) wrong.push('slots: not a whole number from 1 to 10,000')
  if (!isWholeWithin(maxStuck, 1, 10_000)) wrong.push('maxStuck: not a whole number from 1 to 10,000')
  if (pollWaitMs > 60_000) wrong.push('pollWait: over 60 s')
  if (wrong.length > 0) throw new RangeError(wrong.join('; '))
  return Object.freeze({
    queues: queues === null ? null : Object.freeze([...queues]),
    slots,
    name: options.name ?? `${hostname()}-${process.pid}`,
    host: hostname(),
    version: options.version,
    graceMs: toMs(options.grace ?? 25_000),
    heartbeatMs: options.heartbeat === undefined ? undefined : toMs(options.heartbeat),
    pollWaitMs,
    abortGraceMs: toMs(options.abortGrace ?? 4_000),
    classifyError: options.classifyError ?? (() => 'transient'),
    onError: options.onError ?? (() => {}),
    logger: options.logger || SILENT,
    isLoggerDefault: options.logger === undefined,
    maxStuck,
    maxResultBytes: options.maxResultBytes ?? 1_048_576,
  })
}

function isWholeWithin(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most
}
