import { PermanentError } from '@duly/sdk'

/**
 * Fails on its first attempts, as a service does that is being restarted, then works.
 *
 * @param {{ failures?: number } | null} payload how often to fail; 2 unless given
 * @param {import('@duly/sdk').TaskContext} context
 */
export async function flaky(payload, context) {
  const { attempt } = context
  const failures = payload?.failures ?? 2
  context.log('info', `attempt ${attempt} asks the service`)
  if (attempt <= failures) throw new Error(`not yet: attempt ${attempt} of ${failures} that fail`)
  return { attempt, recovered: true }
}

/**
 * Never works. An ordinary error is retried until the task is DEAD; a permanent one ends it as FAILED at once.
 *
 * @param {{ permanent?: boolean, message?: string } | null} payload
 */
export async function alwaysFails(payload) {
  const message = payload?.message ?? 'this task always fails'
  throw payload?.permanent ? new PermanentError(message) : new Error(message)
}
