import type { Uuid } from '@duly/domain'
import type { ClientBase, Pool } from 'pg'
import type { Finding } from '../chaos/checker/finding.js'
import type { Ledger } from './ledger.js'

/** The limits after which the watchdog ends an attempt that its worker still has: its own time, and the grace of a cancellation. */
const timeoutSeconds = 60
const graceSeconds = 5

/**
 * A worker that lives loses a lease that it has not given up by nothing but its own slowness: it did not stop in time when it was
 * told to, or ran for too long. So the watchdog must have ended that attempt, and so late, by the store's clock.
 */
export async function checkRefused(client: ClientBase | Pool, { refused }: Ledger): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const { id, attempt, what } of refused) {
    const { rowCount } = await client.query(endedLate, [id, attempt, timeoutSeconds, graceSeconds])
    if (rowCount === 0) findings.push({ point: 2, rule: 'nobody took the lease away', subject: id, detail: what })
  }
  return findings
}

const endedLate = `
select from task_events e
where e.task_id = $1 and e.attempt = $2 and e.actor = 'watchdog' and (
  e.transition = 'stop' and exists (select from task_events r
    where r.task_id = e.task_id and r.attempt = e.attempt and r.transition = 'request_cancel'
      and e.at >= r.at + $4 * interval '1 second')
  or e.transition = 'time_out' and exists (select from failed_attempts f
    where f.task_id = e.task_id and f.attempt = e.attempt and f.ended_at >= f.started_at + $3 * interval '1 second'))`

/** All that the store has of these tasks but their payloads, for a person who reads a failed run. */
export async function trailOf(client: ClientBase | Pool, ids: readonly Uuid[]): Promise<string[]> {
  const lines: string[] = []
  for (const [table, key] of tables) {
    const { rows } = await client.query<{ line: string }>(
      `select to_jsonb(r)::text as line from ${table} r where r.${key} = any ($1::uuid[])`,
      [ids],
    )
    lines.push(...rows.map(({ line }) => `  ${table}: ${line}`))
  }
  return lines
}

const tables = [
  ['open_tasks', 'id'],
  ['outcomes', 'id'],
  ['failed_attempts', 'task_id'],
  ['runs', 'task_id'],
  ['task_events', 'task_id'],
] as const
