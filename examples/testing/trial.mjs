// A trial of 30 days: a welcome, a reminder after 23 days, the end after 30. Each step submits the next one.
import { defineTask } from '@duly/sdk'

export const startTrial = defineTask('start_trial', { queue: 'trials' })
export const remindTrial = defineTask('remind_trial', { queue: 'trials' })
export const endTrial = defineTask('end_trial', {
  queue: 'trials',
  retry: { limit: 5, delay: '6h', maxDelay: '24h', jitter: 'none' },
})

/** @param {(text: string, to: string) => Promise<void>} mail */
export function handleTrials(worker, mail) {
  return worker
    .handle(startTrial, async ({ to }, context) => {
      await mail('welcome', to)
      await context.submit(remindTrial, { to }, { delay: '23d' })
    })
    .handle(remindTrial, async ({ to }, context) => {
      await mail('one week left', to)
      await context.submit(endTrial, { to }, { delay: '7d' })
    })
    .handle(endTrial, ({ to }) => mail('it was nice', to))
}
