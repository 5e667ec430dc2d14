import { type Clock, decodeLease, gates, judgeFailure, judgeSnooze, type Uuid } from '@duly/domain'
import { Batcher } from '../base/batcher.js'
import { busy } from '../base/busy.js'
import type { AttemptOutcome, Report, ReportResult } from '../model.js'
import type { AttemptStore, Fence, Finish, Judged, Landed, Reopen } from '../store/attempt-store.js'
import type { Attempts } from './attempts.js'
import { sessionActor } from './profile.js'
import type { SessionState } from './session-state.js'

interface Item {
  readonly fence: Fence
  readonly report: Report
  readonly state: SessionState
}

export interface ReportsOptions {
  readonly store: AttemptStore
  readonly attempts: Attempts
  readonly clock: Clock
  readonly random: () => number
  /** Batches of reports under way at once. */
  readonly lanes: number
  readonly onBatch?: (size: number, tookMs: number) => void
}

/** Reports of workers: each counts only for the attempt whose lease it holds (I4). Concurrent ones share a statement. */
export class Reports {
  readonly #options: ReportsOptions
  readonly #batcher: Batcher<Item, ReportResult>

  constructor(options: ReportsOptions) {
    this.#options = options
    this.#batcher = new Batcher({
      maxItems: 500,
      maxBytes: 8 * 1024 * 1024,
      full: { items: 100_000, bytes: 256 * 1024 * 1024 },
      sizeOf: ({ report }) => (report.outcome === 'succeeded' ? (report.result?.length ?? 0) : 1_000),
      lanes: options.lanes,
      run: (items) => this.#settled(items),
    })
  }

  /** One result a report, in order. Rejects with `store_unavailable` when too many wait for the store already. */
  async report(state: SessionState, reports: readonly Report[]): Promise<ReportResult[]> {
    if (this.#batcher.isFull) throw busy('reports')
    return Promise.all(
      reports.map((report): ReportResult | Promise<ReportResult> => {
        const lease = decodeLease(report.lease)
        if (!lease) return { id: report.id, accepted: false, code: 'lease_lost' }
        const fence = { id: report.id, session: state.row.id, ...lease }
        state.leases.report(fence)
        return this.#batcher.add({ fence, report, state })
      }),
    )
  }

  drained(): Promise<void> {
    return this.#batcher.drained()
  }

  /** A lease whose report was not accepted, or not judged, takes its slot again: the store may hold it still. */
  async #settled(items: readonly Item[]): Promise<ReportResult[]> {
    let results: readonly ReportResult[] = []
    try {
      results = await this.#apply(items)
      return [...results]
    } finally {
      for (const [index, { state, fence }] of items.entries()) {
        state.leases.settle(fence.token, results[index]?.accepted ?? false)
      }
    }
  }

  async #apply(all: readonly Item[]): Promise<ReportResult[]> {
    const beganMs = this.#options.clock.monotonicMs()
    // of two words on one attempt the first stands; the second is judged as one that came later
    const items = [...new Map(all.toReversed().map((item) => [fenceKey(item.fence), item])).values()]
    const first = new Set(items)
    const landed = new Map<string, Landed>()
    const note = (tasks: ReadonlyMap<Uuid, Landed>): void => {
      for (const task of tasks.values()) landed.set(fenceKey(task), task)
    }
    const succeeded = items.flatMap(success)
    if (succeeded.length > 0) note(await this.#options.attempts.finish(succeeded))
    const others = items.filter((item) => item.report.outcome !== 'succeeded')
    if (others.length > 0) {
      const { finishes, reopens } = await this.#judge(others)
      if (finishes.length > 0) note(await this.#options.attempts.finish(finishes))
      if (reopens.length > 0) note(await this.#options.attempts.reopen(reopens))
    }
    const missing = all.filter((item) => !first.has(item) || !landed.has(fenceKey(item.fence)))
    const ended = missing.length > 0 ? await this.#options.store.ended(missing.map((item) => item.fence)) : []
    const repeated = new Map(ended.map((end) => [fenceKey(end), end]))
    this.#options.onBatch?.(all.length, this.#options.clock.monotonicMs() - beganMs)
    return all.map((item) => {
      const { fence, report } = item
      const { id } = fence
      const done = first.has(item) ? landed.get(fenceKey(fence)) : undefined
      if (done) return { id, accepted: true, status: done.status }
      // a report whose first answer was lost is answered as it was then
      const end = repeated.get(fenceKey(fence))
      if (end && isAlike(report, end.outcome)) return { id, accepted: true, status: end.status }
      return { id, accepted: false, code: 'lease_lost' }
    })
  }

  async #judge(items: readonly Item[]): Promise<{ finishes: Finish[]; reopens: Reopen[] }> {
    const judged = new Map(
      (await this.#options.store.judgeReported(items.map((item) => item.fence))).map((row) => [fenceKey(row), row]),
    )
    const finishes: Finish[] = []
    const reopens: Reopen[] = []
    for (const item of items) {
      const row = judged.get(fenceKey(item.fence))
      if (!row) continue
      const end = this.#decide(item, row)
      if ('result' in end) finishes.push(end)
      else reopens.push(end)
    }
    return { finishes, reopens }
  }

  #decide(item: Item, row: Judged): Finish | Reopen {
    const { report } = item
    const base = baseOf(item, row)
    switch (report.outcome) {
      case 'failed': {
        const { error, timedOut } = report
        return failed({ ...base, error, attemptOutcome: timedOut ? 'timed_out' : 'failed' }, row, {
          retryable: report.retryable,
          retryAfterMs: report.retryAfterMs,
          transition: timedOut ? 'time_out' : 'retry',
          random: this.#options.random,
        })
      }
      case 'snoozed':
        return snoozed(base, row, report.delayMs)
      case 'released':
        return {
          ...base,
          status: 'PENDING',
          delayMs: null,
          releases: row.releases + 1,
          transition: 'release',
          attemptOutcome: 'released',
        }
      case 'cancelled':
        return cancelled(base, row)
      case 'succeeded':
        throw new Error('successes are not judged')
    }
  }
}

function snoozed(base: ReturnType<typeof baseOf>, row: Judged, delayMs: number): Finish | Reopen {
  const verdict = judgeSnooze(row)
  const attemptOutcome = 'snoozed'
  if (verdict.kind === 'exhaust') {
    const error = { class: 'TooManySnoozes', message: `Snoozed ${row.snoozes} times.`, stack: null }
    return { ...base, status: 'DEAD', result: null, transition: 'exhaust', error, attemptOutcome }
  }
  return { ...base, ...verdict, status: 'SCHEDULED', delayMs, transition: 'snooze', attemptOutcome }
}

/** Reports of one batch may speak for different attempts of one task; only the whole fence tells them apart. */
const fenceKey = ({ id, session, attempt, token }: Fence): string => `${id} ${session} ${attempt} ${token}`

/** Whether this report can have ended the attempt so; another word on an attempt that has ended comes too late. */
function isAlike(report: Report, outcome: AttemptOutcome): boolean {
  if (report.outcome === 'failed') return outcome === (report.timedOut ? 'timed_out' : 'failed')
  return outcome === report.outcome || (report.outcome === 'cancelled' && outcome === 'failed')
}

/** Only a task whose cancellation was asked for can end cancelled; a worker that gives up by itself has failed. */
function cancelled(base: ReturnType<typeof baseOf>, row: Judged): Finish {
  if (row.cancelRequested)
    return { ...base, status: 'CANCELLED', result: null, transition: 'stop', attemptOutcome: 'cancelled' }
  const error = {
    class: 'CancelledByWorker',
    message: 'The worker gave the task up although nobody cancelled it.',
    stack: null,
  }
  return { ...base, status: 'FAILED', result: null, transition: 'fail', error, attemptOutcome: 'failed' }
}

/** The end of a failed attempt, as `judgeFailure` decides it; shared by reports and the watchdog. */
export function failed(
  base: Omit<Reopen, 'status' | 'delayMs' | 'transition'>,
  row: Judged,
  failure: { retryable: boolean; retryAfterMs: number | null; transition: 'retry' | 'time_out'; random: () => number },
): Finish | Reopen {
  const {
    maxRetries,
    backoff,
    jitter,
    retryDelayMs: delayMs,
    retryMaxDelayMs: maxDelayMs,
    previousDelayMs,
    failures,
  } = row
  const policy = { maxRetries, backoff, jitter, delayMs, maxDelayMs }
  const { retryable, retryAfterMs } = failure
  const verdict = judgeFailure({ policy, failures, retryable, retryAfterMs, previousDelayMs }, failure.random)
  switch (verdict.kind) {
    case 'retry':
      return {
        ...base,
        status: 'RETRYING',
        failures: verdict.failures,
        delayMs: verdict.delayMs,
        isDelayWished: retryAfterMs !== null,
        transition: failure.transition,
      }
    case 'fail':
      return { ...base, status: 'FAILED', result: null, failures: verdict.failures, transition: 'fail' }
    case 'exhaust':
      return {
        ...base,
        status: 'DEAD',
        result: null,
        failures: verdict.failures,
        transition: failure.transition === 'time_out' ? 'time_out' : 'exhaust',
      }
  }
}

function baseOf({ fence, state }: Item, row: Judged) {
  const { failures, crashes, undelivered, snoozes, releases } = row
  return {
    fence,
    condition: 'none' as const,
    actor: sessionActor(fence.session),
    reason: null,
    workerName: state.row.name,
    error: null,
    failures,
    crashes,
    undelivered,
    snoozes,
    releases,
    gate: crashes + undelivered > 0 ? gates.suspect : gates.none,
  }
}

function success({ fence, report, state }: Item): Finish[] {
  if (report.outcome !== 'succeeded') return []
  return [
    {
      fence,
      condition: 'none',
      transition: 'succeed',
      actor: sessionActor(fence.session),
      reason: null,
      workerName: state.row.name,
      error: null,
      failures: null,
      crashes: null,
      undelivered: null,
      attemptOutcome: null,
      status: 'SUCCEEDED',
      result: report.result,
    },
  ]
}
