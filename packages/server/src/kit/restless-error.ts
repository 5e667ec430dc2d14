import { encodeId, type IdPrefix } from '@duly/domain'
import type { Rest, RestlessTask } from './rest.js'

/** Time can't pass: tasks that are due now did not come to rest. Says which, and what they wait for. */
export class RestlessError extends Error {
  override readonly name = 'RestlessError'
  readonly tasks: readonly (RestlessTask & { readonly taskId: string })[]

  constructor({ atMs, restless }: Rest, waitedMs: number) {
    const at = new Date(atMs).toISOString()
    const lines = restless.map((task) => `\n  ${describe(task)}`).join('')
    super(
      `Time stands at ${at}: after ${Math.round(waitedMs / 100) / 10} s of real time these tasks have not come to rest.${lines}`,
    )
    this.tasks = restless.map((task) => ({ ...task, taskId: idOf(task) }))
  }
}

/** What is no task, by its status. */
const kinds: Readonly<Partial<Record<string, IdPrefix>>> = { FIRING: 'cron', OPERATING: 'bulk' }

const idOf = ({ id, status }: RestlessTask): string => encodeId(kinds[status] ?? 'task', id)

function describe(task: RestlessTask): string {
  const { status, taskType, queue, attempt, worker } = task
  const name = `${idOf(task)} ${taskType}`
  if (status === 'FIRING') return `${name}: a recurring task is due and has not fired`
  if (status === 'OPERATING') return `${name}: an operation on many tasks goes on`
  if (status === 'RUNNING') return `${name}: attempt ${attempt} runs at worker ${worker ?? 'unknown'} and does not end`
  if (status === 'PENDING') return `${name}: waits in ${queue} for a free slot of a worker`
  return `${name}: is ${status} and due`
}
