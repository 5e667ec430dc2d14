import type { ServerResponse } from 'node:http'
import { DulyError } from '@duly/domain'

/** The error for everything that comes while the node drains. */
export const shuttingDown = (): DulyError =>
  new DulyError('shutting_down', 'This node is shutting down; another one will serve the request.', {
    retryAfterSeconds: 1,
  })

/**
 * The calls that are held open. Each gets a signal that fires when its client goes away, so that nothing is handed to
 * nobody, and when the node closes, so that its answer comes at once and the connection can end.
 */
export class WaitRoom {
  readonly #waiting = new Set<AbortController>()
  #closing = false

  get isClosing(): boolean {
    return this.#closing
  }

  /** Runs a call with its signal. A call that fails only because the node closes is answered 503 `shutting_down`. */
  async hold<T>(response: ServerResponse, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController()
    const onClose = () => {
      if (!response.writableFinished) controller.abort()
    }
    response.once('close', onClose)
    if (this.#closing || response.destroyed) controller.abort()
    this.#waiting.add(controller)
    try {
      return await call(controller.signal)
    } catch (error) {
      if (this.#closing && controller.signal.aborted && !(error instanceof DulyError)) throw shuttingDown()
      throw error
    } finally {
      this.#waiting.delete(controller)
      response.off('close', onClose)
    }
  }

  /** Ends every wait; from now on new requests are refused. */
  close(): void {
    this.#closing = true
    for (const controller of this.#waiting) controller.abort()
  }
}
