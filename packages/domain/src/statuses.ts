/** Every status a task can have, in the order of a life, each with its meaning. `open` ones stand in `open_tasks`. */
export const taskStatuses = [
  { name: 'SCHEDULED', open: true, doc: 'Waits for its time: a delay, a date, or the end of a snooze.' },
  { name: 'PENDING', open: true, doc: 'Ready to run; waits in its lane for a free slot.' },
  { name: 'BLOCKED', open: true, doc: 'Waits for tasks that it depends on.' },
  { name: 'RUNNING', open: true, doc: 'Held by a worker under a lease. Marked, once its cancellation was requested.' },
  { name: 'RETRYING', open: true, doc: 'An attempt failed or timed out; waits for the drawn delay.' },
  { name: 'SUCCEEDED', open: false, doc: 'The handler returned; its result is kept.' },
  { name: 'FAILED', open: false, doc: 'Ended by a permanent error, or by a dependency that cannot be met.' },
  { name: 'DEAD', open: false, doc: 'Retries, crashes or snoozes are used up; lies in the dead letters.' },
  { name: 'CANCELLED', open: false, doc: 'Ended on request, by expiry, or skipped by its trigger rule.' },
] as const

/** The status of a task. */
export type TaskStatus = (typeof taskStatuses)[number]['name']
/** A status of a task that has not ended. */
export type OpenStatus = Extract<(typeof taskStatuses)[number], { open: true }>['name']
/** A status in which a task has ended: it has an outcome. */
export type FinalStatus = Exclude<TaskStatus, OpenStatus>

const openNames: ReadonlySet<string> = new Set(taskStatuses.filter((status) => status.open).map(({ name }) => name))

/** Whether a task in this status has not ended, and so stands in `open_tasks` and not in `outcomes`. */
export function isOpen(status: TaskStatus): status is OpenStatus {
  return openNames.has(status)
}

/** The statuses of tasks that have not ended. */
export const openStatuses: readonly OpenStatus[] = taskStatuses.map(({ name }) => name).filter(isOpen)

/** The statuses of tasks that have ended. */
export const finalStatuses: readonly FinalStatus[] = taskStatuses
  .map(({ name }) => name)
  .filter((name): name is FinalStatus => !isOpen(name))
