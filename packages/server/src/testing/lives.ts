import { encodeLease, type Uuid } from '@duly/domain'
import type { SessionState } from '../dispatch/session-state.js'
import type { Report, ReportResult, TaskError } from '../model.js'
import { newTask, type TestNode } from './test-node.js'

/** A task on its own lane, with the worker that last held it and the lease that it gave. */
export interface Life {
  readonly id: Uuid
  readonly queue: string
  readonly worker: SessionState
  readonly lease: string
}

export const error: TaskError = { class: 'Boom', message: 'it went wrong', stack: 'at work' }

/** What a worker says of an attempt, without the lease. */
export const words = {
  succeed: { outcome: 'succeeded', result: '{"ok":true}' },
  fail: { outcome: 'failed', error, retryable: false, retryAfterMs: null, timedOut: false },
  retry: { outcome: 'failed', error, retryable: true, retryAfterMs: null, timedOut: false },
  snooze: { outcome: 'snoozed', delayMs: 60_000 },
  release: { outcome: 'released' },
  stop: { outcome: 'cancelled' },
} as const

type Words = (typeof words)[keyof typeof words]

export function reportOf({ id, lease }: { id: Uuid; lease: string }, said: Words): Report {
  return { id, lease, ...said }
}

export async function say(node: TestNode, life: Life, said: Words): Promise<ReportResult | undefined> {
  const [result] = await node.reports.report(life.worker, [reportOf(life, said)])
  return result
}

let lives = 0

/** A running task that its worker has acknowledged, alone on its lane. */
export async function startLife(node: TestNode, over: Parameters<typeof newTask>[0] = {}): Promise<Life> {
  const queue = `life-${lives++}`
  const { id } = await node.intake.submit(newTask({ queue, ...over }))
  return claimLife(node, { id, queue })
}

/** Claims the task for a new worker. */
export async function claimLife(
  node: TestNode,
  { id, queue, gate = '' }: { id: Uuid; queue: string; gate?: string },
): Promise<Life> {
  const worker = await node.worker({ queues: [queue] })
  const [task] = await node.claim(worker, 1, { queue, gate })
  if (task?.id !== id) throw new Error(`the claim gave ${task?.id} in place of ${id}`)
  return { id, queue, worker, lease: encodeLease(task) }
}

/** Ends the worker's lease, as if it had been silent for long. */
export async function silence(node: TestNode, worker: SessionState): Promise<void> {
  await node.query(`update worker_sessions set live_until = 'epoch' where id = $1`, [worker.row.id])
}

/** Moves the deadline, grace included, of a running task into the past. */
export async function passDeadline(node: TestNode, id: Uuid): Promise<void> {
  await node.query(
    `update open_tasks set deadline_at = now() - interval '10 s', wake_at = now() - interval '1 s'
     where id = $1 and status = 'RUNNING'`,
    [id],
  )
}

/** Moves the due time of a waiting task into the past. */
export async function passDue(node: TestNode, id: Uuid): Promise<void> {
  await node.query(`update open_tasks set due_at = now() - interval '1 s', wake_at = now() where id = $1`, [id])
}

export const mark = (node: TestNode, id: Uuid) => node.tasks.cancel(id, null, { kind: 'api', name: 'tester' })

/** A pass of the watchdog, as if it had passed every second all along: no outage lies behind it, however long it takes to come. */
export async function watch(node: TestNode): Promise<boolean> {
  await node.query(
    `update store_marks set marked_at = now() + interval '1 hour', judge_after = least(judge_after, now())`,
  )
  return node.watchdog.runOnce()
}
