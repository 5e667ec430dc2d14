import { type Caller, DulyError } from '@duly/domain'
import type { FastifyReply } from 'fastify'
import type { Gate } from '../model.js'

/** The error for everything that comes while the node drains. */
export const shuttingDown = (): DulyError =>
  new DulyError('shutting_down', 'This node is shutting down; another one will serve the request.', {
    retryAfterSeconds: 1,
  })

/** A call that may be held. */
export interface HeldCall {
  readonly reply: FastifyReply
  readonly caller: Caller
}

/**
 * The calls that are held open. Each gets a signal that fires when its client goes away, so that nothing is handed to
 * nobody; when its key is revoked; and when the node closes, so that its answer comes at once and the connection can end.
 */
export class WaitRoom {
  readonly #waiting = new Map<AbortController, Caller>()
  readonly #gate: Gate | null
  #closing = false

  constructor(gate: Gate | null) {
    this.#gate = gate
    gate?.onRevoked((keyId) => this.#end((caller) => caller.keyId === keyId))
  }

  get isClosing(): boolean {
    return this.#closing
  }

  /**
   * Runs a call with its signal. A call that fails only because the node closes is answered 503 `shutting_down`; one whose
   * key is good no more when it ends is answered 401, whatever it brought.
   */
  async hold<T>(held: HeldCall, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal, leave } = this.enter(held)
    try {
      const answer = await call(signal)
      await this.confirm(held)
      return answer
    } catch (error) {
      if (this.#closing && signal.aborted && !(error instanceof DulyError)) throw shuttingDown()
      throw error
    } finally {
      leave()
    }
  }

  /** The same for an answer that goes on after its head: whoever enters must leave, and confirm the key before more is told. */
  enter({ reply, caller }: HeldCall): { readonly signal: AbortSignal; readonly leave: () => void } {
    const { raw: response } = reply
    const controller = new AbortController()
    const onClose = () => {
      if (!response.writableFinished) controller.abort()
    }
    response.once('close', onClose)
    if (this.#closing || response.destroyed) controller.abort()
    this.#waiting.set(controller, caller)
    const leave = (): void => {
      this.#waiting.delete(controller)
      response.off('close', onClose)
    }
    return { signal: controller.signal, leave }
  }

  /** @throws DulyError `unauthenticated` when the key is good no more */
  async confirm({ caller }: Pick<HeldCall, 'caller'>): Promise<void> {
    await this.#gate?.confirm(caller)
  }

  /** Ends every wait; from now on new requests are refused. */
  close(): void {
    this.#closing = true
    this.#end(() => true)
  }

  #end(which: (caller: Caller) => boolean): void {
    for (const [controller, caller] of this.#waiting) if (which(caller)) controller.abort()
  }
}
