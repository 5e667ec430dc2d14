import {
  type Blocker,
  type Cause,
  type Explanation,
  encodeId,
  type NearWorker,
  priorityName,
  type Uuid,
} from '@duly/domain'
import { instant, type Writable, type WritableObject, writeJson } from './write-json.js'

export function writeExplanation(id: Uuid, { status, summary, causes }: Explanation): string {
  return writeJson({ task_id: encodeId('task', id), status, summary, causes: causes.map(causeOf) })
}

/** What is called otherwise on the wire. */
const renamed: Readonly<Record<string, string>> = {
  tenant: 'tenant_id',
  backoff: 'retry_backoff',
  jitter: 'retry_jitter',
}

function causeOf({
  code,
  message,
  nearWorkers,
  blockers,
  priority,
  priorities,
  workerId,
  ...plain
}: Cause): WritableObject {
  return {
    code,
    message,
    ...fieldsOf(plain),
    ...(priority === undefined ? {} : { priority: priorityName(priority) }),
    ...(workerId === undefined ? {} : { worker_id: workerId === null ? null : encodeId('worker', workerId) }),
    ...(nearWorkers === undefined ? {} : { near_workers: nearWorkers.map(nearOf) }),
    ...(blockers === undefined ? {} : { blockers: blockers.map(blockerOf) }),
    ...(priorities && { priorities: priorities.map((each) => ({ ...each, priority: priorityName(each.priority) })) }),
  }
}

const nearOf = ({ id, name, queues, taskTypes, missing }: NearWorker): WritableObject => ({
  ...{ worker_id: encodeId('worker', id), name, queues, task_types: taskTypes, missing },
})

const blockerOf = ({ id, node, status }: Blocker): WritableObject => ({ task_id: encodeId('task', id), node, status })

/** Plain fields by the rule of the wire: snake_case, instants `…_at`, lengths of time `…_seconds`. */
function fieldsOf(fields: object): WritableObject {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => fieldOf(name, value as Writable)))
}

function fieldOf(name: string, value: Writable): readonly [string, Writable] {
  const isNumber = typeof value === 'number' || value === null
  if (isNumber && name.endsWith('AtMs')) return [snake(name.slice(0, -2)), instant(value)]
  if (isNumber && name.endsWith('Ms'))
    return [`${snake(name.slice(0, -2))}_seconds`, value && Math.round(value) / 1_000]
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value)
  return [renamed[name] ?? snake(name), isRecord ? fieldsOf(value) : value]
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
