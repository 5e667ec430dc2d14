import { DulyError } from '@duly/domain'

/**
 * Does what sets a test up, and does it again when the database could not be reached in time: on a machine that is short of time a
 * connection can take longer than a node waits for it.
 */
export async function persistently<T>(work: () => Promise<T>, tries = 6): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (tries <= 1 || !(error instanceof DulyError) || error.code !== 'store_unavailable') throw error
    return persistently(work, tries - 1)
  }
}
