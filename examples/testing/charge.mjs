// A task type and its handler. What the handler calls is given to it, so that a test can give something else.
import { defineTask, PermanentError } from '@duly/sdk'

export const charge = defineTask('charge_card', {
  queue: 'payments',
  timeout: '10s',
  retry: { limit: 5, delay: '10s' },
})

/** @param {(request: object) => Promise<{ status: number, id?: string, retryAfter?: string }>} pay */
export function chargeCard(pay) {
  return async ({ cents }, context) => {
    if (!(cents > 0)) throw new PermanentError(`nothing to charge: ${cents}`)
    const answer = await pay({ cents, key: context.idempotencyKey, signal: context.signal })
    if (answer.status === 429) throw context.retryAfter(answer.retryAfter ?? '30s')
    if (answer.status !== 200) throw new Error(`the service says ${answer.status}`)
    return { charge: answer.id, attempt: context.attempt }
  }
}
