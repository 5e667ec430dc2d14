import { type Clock, DulyError, type TenantScope, type Uuid } from '@duly/domain'
import type { LogPage, LogRequest, WaitRequest } from '../model.js'
import type { LogStore } from '../store/log-store.js'
import type { LogWaiters } from './log-waiters.js'
import type { Waiters } from './waiters.js'

export interface LogsOptions {
  readonly store: LogStore
  /** Wait for ends of tasks … */
  readonly waiters: Waiters
  /** … and for lines. */
  readonly logWaiters: LogWaiters
  readonly clock: Clock
  /** Somebody waits here for lines of this task: nodes that write some tell. */
  readonly onFollowed: (task: Uuid) => void
}

/** What handlers logged. Another tenant's is as if it did not exist. */
export class Logs {
  readonly #options: LogsOptions

  constructor(options: LogsOptions) {
    this.#options = options
  }

  /** A page with lines, or the last one, as soon as there is one; after `waitMs`, or when the signal aborts, what there is. */
  async read(
    id: Uuid,
    tenant: TenantScope,
    { waitMs, signal, ...request }: LogRequest & WaitRequest,
  ): Promise<LogPage> {
    const { clock, onFollowed } = this.#options
    const endsAtMs = clock.monotonicMs() + waitMs
    let after = request.after
    for (let look = 0; ; look++) {
      const leftMs = Math.max(0, endsAtMs - clock.monotonicMs())
      // waiting begins before the look, so that what comes between the two is not missed
      const wait = this.#wait(id, leftMs, signal)
      try {
        const page = await this.#options.store.page(id, tenant, { ...request, after })
        if (page === null) throw new DulyError('not_found', 'There is no such task.')
        if (page.lines.length > 0 || page.isComplete || leftMs === 0 || signal.aborted) return page
        if (look === 0) onFollowed(id)
        after = page.next
        await wait.done
      } finally {
        wait.cancel()
      }
    }
  }

  #wait(id: Uuid, waitMs: number, signal: AbortSignal): { readonly done: Promise<void>; readonly cancel: () => void } {
    if (waitMs === 0) return { done: Promise.resolve(), cancel: () => {} }
    const line = this.#options.logWaiters.wait(id, waitMs, signal)
    const end = this.#options.waiters.wait(id, waitMs, signal)
    return {
      done: Promise.race([line.done, end.done]),
      cancel: () => {
        line.cancel()
        end.cancel()
      },
    }
  }
}
