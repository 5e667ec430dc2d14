import { DulyError } from '@duly/domain'

/** More waits for the store than a node keeps in memory (I10): nothing was done, and a repeat may find room. `what` is in the plural. */
export function busy(what: string): DulyError {
  return new DulyError('store_unavailable', `More ${what} wait for the store than this node takes; try again.`, {
    retryAfterSeconds: 1,
  })
}
