import { DulyError, encodeId, type Uuid } from '@duly/domain'
import type { NodeParts } from '../node/assemble.js'

/**
 * Workers that are gone, as if their machines had lost power. What still comes in the name of one reaches nothing, and is answered as
 * if its session were dead; in the store it lives until its lease is over.
 */
export class LostWorkers {
  readonly #ids = new Set<string>()

  /** @param api not listening yet */
  constructor(api: NodeParts['api']) {
    api.addHook('onRequest', async ({ method, url }) => {
      const id = /\/workers\/([^/?]+)/.exec(url)?.[1] ?? ''
      if (method !== 'GET' && this.#ids.has(id)) throw new DulyError('session_lost', 'The test has lost this worker.')
    })
  }

  add(session: Uuid): void {
    this.#ids.add(encodeId('worker', session))
  }
}
