import { encodeId, type Uuid } from '@duly/domain'
import type { BulkCall } from '../checker/client-log.js'
import { exchange } from './exchange.js'

interface Body {
  readonly bulk_id: string
  readonly status: string
  readonly failed: number
}

/** A client waits for the end of an operation so often, at most so long each time. */
const LOOKS = 3
const WAIT_SECONDS = 3

/** Asks for an operation on many tasks, and looks for a while whether it has come to its end. */
export async function bulk(url: () => string, action: BulkCall['action'], workflow: Uuid | null): Promise<BulkCall> {
  const content = { action, filter: workflow === null ? {} : { workflow_id: encodeId('wf', workflow) } }
  const asked =
    workflow === null
      ? ({ method: 'POST', path: '/dlq/retry-all' } as const)
      : ({ method: 'POST', path: '/tasks/bulk', content } as const)
  const { body, retryAfter: _, ...reply } = await exchange<Body>(url(), asked)
  const call = { ...reply, verb: 'bulk', action, workflow } as const
  return { ...call, doneAt: reply.outcome === 'ok' && body.bulk_id ? await doneAt(url, body.bulk_id) : null }
}

async function doneAt(url: () => string, id: string): Promise<number | null> {
  const path = `/bulk-operations/${id}?wait_seconds=${WAIT_SECONDS}`
  for (let look = 0; look < LOOKS; look += 1) {
    const { body, endedAt } = await exchange<Body>(url(), { method: 'GET', path })
    if (body.status === 'SUCCEEDED') return body.failed === 0 ? endedAt : null
  }
  return null
}
