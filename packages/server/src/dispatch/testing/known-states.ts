import pg from 'pg'
import { SessionState } from '../session-state.js'
import { type HttpNode, type RawWorker, until } from './http-node.js'

/** Sessions that have polled at a node of this process, by their ids: from outside nobody sees that a poll waits. */
const polled = new Map<string, Set<SessionState>>()
const open = SessionState.prototype.open
SessionState.prototype.open = function (this: SessionState, ...args: Parameters<typeof open>): void {
  const { id } = this.row
  polled.set(id, (polled.get(id) ?? new Set()).add(this))
  open.apply(this, args)
}

/** Resolves when a poll of that worker waits at a node of this process. */
export async function untilItWaits({ uuid }: RawWorker): Promise<void> {
  await until('the poll waits', () => [...(polled.get(uuid) ?? [])].some(({ isPolling }) => isPolling))
}

/**
 * Resolves when a node tells others of tasks that come to it, since it knows that there are others.
 *
 * @param task submitted over that node until the word of its queue is heard; with a delay, it is the scheduler that tells
 */
export async function untilItTells(
  databaseUrl: string,
  { api }: HttpNode,
  task: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const listener = new pg.Client({ connectionString: databaseUrl })
  const told = new Set<string>()
  listener.on('notification', ({ payload = '{}' }) => {
    for (const queue of (JSON.parse(payload) as { ready?: string[] }).ready ?? []) told.add(queue)
  })
  await listener.connect()
  await listener.query('listen duly')
  const queue = `told-of-${listener.port}-${Math.trunc(performance.now())}`
  await until('it tells the others', async () => {
    await api.submit({ queue, ...task })
    return told.has(queue)
  })
  await listener.end()
}
