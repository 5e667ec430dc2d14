import { exchange } from './exchange.js'

/** A call about recurring tasks, which a deployment makes until it is told that it was heard. */
export async function callCron<B = { readonly cron_id: string }>(
  url: string,
  method: 'PUT' | 'POST',
  path: string,
  content: unknown,
): Promise<Partial<B>> {
  const reply = await exchange<B>(url, { method, path: `/cron-tasks${path}`, content })
  if (reply.outcome !== 'ok') throw new Error(`${method} ${path}: ${reply.status} ${reply.code}`)
  return reply.body
}
