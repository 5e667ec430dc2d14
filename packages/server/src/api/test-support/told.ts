import { randomBytes } from 'node:crypto'
import { firstUuidAt, type Uuid, uuidFromBytes } from '@duly/domain'

/** The instant that every answer of the services in memory carries. */
export const fixedAtMs = Date.UTC(2026, 3, 3, 10)

export function newId(): Uuid {
  const bytes = randomBytes(16)
  return `${firstUuidAt(fixedAtMs).slice(0, 14)}7${uuidFromBytes(bytes, 0).slice(15)}`
}

/** What a test has told the services in memory to do next. */
export class Told {
  /** Thrown by the next call of any service, once. */
  failNext: unknown = null
  /** Called when a wait begins, with its signal. */
  onWait: (signal: AbortSignal) => void = () => {}

  failIfTold(): void {
    const error = this.failNext
    this.failNext = null
    if (error !== null) throw error
  }

  async wait(waitMs: number, signal: AbortSignal): Promise<void> {
    this.onWait(signal)
    if (waitMs === 0 || signal.aborted) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, waitMs)
      signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
