import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PermanentError } from '@duly/sdk'

/** Where the messages go: DULY_MAIL_DIR, else `mail` in the data folder. */
export const mailDir = resolve(process.env.DULY_MAIL_DIR ?? join(process.env.DULY_DATA_DIR ?? '.duly', 'mail'))

const ADDRESS = /^[^\s@<>]+@[^\s@<>]+\.[^\s@<>]+$/

/**
 * Renders an e-mail as a text file. The file is named after the task's idempotency key, so an attempt that is repeated
 * after a crash writes the same message again and not a second one.
 *
 * @param {{ to: string, subject?: string, name?: string, template_id?: string }} payload
 * @param {{ idempotencyKey: string }} context
 */
export async function sendEmail(payload, { idempotencyKey }) {
  if (!ADDRESS.test(payload?.to ?? ''))
    throw new PermanentError(`not an e-mail address: ${JSON.stringify(payload?.to)}`)
  const messageId = `<${idempotencyKey.replace(/[^\w.-]/g, '_')}@duly.example>`
  await mkdir(mailDir, { recursive: true })
  const file = join(mailDir, `${messageId.slice(1, messageId.indexOf('@'))}.eml`)
  const draft = `${file}.${process.pid}.draft`
  await writeFile(draft, render(messageId, payload))
  await rename(draft, file)
  return { message_id: messageId, file }
}

/** A message in the form of RFC 5322. Line breaks in a subject would become headers of their own: they become spaces. */
function render(messageId, { to, subject, name, template_id: template = 'plain' }) {
  const headers = [
    `Message-ID: ${messageId}`,
    `Date: ${new Date().toUTCString()}`,
    'From: Duly example <no-reply@duly.example>',
    `To: ${to}`,
    `Subject: ${String(subject ?? 'Hello from Duly').replace(/[\r\n]+/g, ' ')}`,
    `X-Template: ${String(template).replace(/[\r\n]+/g, ' ')}`,
    'Content-Type: text/plain; charset=utf-8',
  ]
  const body = `Hello ${name ?? to.slice(0, to.indexOf('@'))},\n\nthis message was rendered by a Duly worker.\n`
  return `${headers.join('\r\n')}\r\n\r\n${body.replaceAll('\n', '\r\n')}`
}
