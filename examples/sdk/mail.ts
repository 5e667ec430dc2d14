import { Duly, defineTask, type } from '@duly/sdk'

export const sendEmail = defineTask('send_email', {
  payload: type<{ to: string }>(), // or a schema of zod, valibot, arktype …, which is also checked at run time
  result: type<{ message_id: string }>(),
  queue: 'email-queue',
  timeout: '30s',
  retry: { limit: 5, backoff: 'exponential', delay: '10s' },
})

export const duly = new Duly() // DULY_URL and DULY_API_KEY, or { url, apiKey }
