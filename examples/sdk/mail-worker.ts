import { classifyHttpError, PermanentError, Worker } from '@duly/sdk'
import { duly, sendEmail } from './mail.js'

const mailService = process.env.MAIL_SERVICE ?? 'http://127.0.0.1:8025/send'

export const worker = new Worker(duly, { slots: 10, grace: '25s', classifyError: classifyHttpError })
worker.handle(sendEmail, async (payload, ctx) => {
  const answer = await fetch(mailService, {
    method: 'POST',
    body: JSON.stringify(payload),
    headers: { 'idempotency-key': ctx.idempotencyKey }, // the same in every attempt
    signal: ctx.signal, // time limit, cancellation, lost lease, stop
  })
  if (answer.status === 429) throw ctx.retryAfter('30s')
  if (!answer.ok) throw new PermanentError(`the mail service says ${answer.status}`)
  return { message_id: await answer.text() }
})

await worker.start() // inside a larger program; alone: `await worker.run()`, which drains on SIGTERM and SIGINT
