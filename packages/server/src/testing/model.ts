import type { TaskStatus, Uuid } from '@duly/domain'

/** What the model knows of a task: the lifecycle table, written once more as plain steps over values. */
export interface ModelTask {
  readonly id: Uuid
  status: TaskStatus
  attempt: number
  failures: number
  crashes: number
  snoozes: number
  releases: number
  run: number
  marked: boolean
  suspect: boolean
  maxRetries: number
  /** What the last edit made of it. */
  payload: string
  /** The model's number of the worker that runs it; null when it does not run. */
  worker: number | null
  /** Leases that were given, by attempt: the worker that got each. */
  readonly holders: Map<number, number>
}

/** How a report says that an attempt ended. */
export type Verb = 'succeed' | 'fail' | 'retry' | 'snooze' | 'release' | 'stop'

export const maxCrashes = 3

export function newModelTask(id: Uuid, maxRetries: number, delayed: boolean): ModelTask {
  const counts = { attempt: 0, failures: 0, crashes: 0, snoozes: 0, releases: 0, run: 1 }
  const status = delayed ? 'SCHEDULED' : 'PENDING'
  const payload = '{"n":1}'
  return { id, status, ...counts, marked: false, suspect: false, maxRetries, payload, worker: null, holders: new Map() }
}

export function claim(task: ModelTask, worker: number): void {
  task.status = 'RUNNING'
  task.attempt += 1
  task.worker = worker
  task.holders.set(task.attempt, worker)
}

/** An attempt is over and the task goes on, unless it is marked: then it ends. */
function leaveRunning(task: ModelTask, status: TaskStatus): void {
  const stands = status === 'SUCCEEDED' || status === 'FAILED'
  task.status = task.marked && !stands ? 'CANCELLED' : status
  task.worker = null
  task.marked = false
}

export function report(task: ModelTask, verb: Verb): void {
  if (verb === 'retry') {
    failOnce(task)
    return
  }
  // what a marked task would have counted is never shown
  if (verb === 'snooze' && !task.marked) task.snoozes += 1
  if (verb === 'release' && !task.marked) task.releases += 1
  const unasked = task.marked ? 'CANCELLED' : 'FAILED'
  const ends = { succeed: 'SUCCEEDED', fail: 'FAILED', snooze: 'SCHEDULED', release: 'PENDING', stop: unasked } as const
  leaveRunning(task, ends[verb])
}

function failOnce(task: ModelTask): void {
  task.failures += 1
  leaveRunning(task, task.failures > task.maxRetries ? 'DEAD' : 'RETRYING')
}

export function lose(task: ModelTask): void {
  task.crashes += 1
  task.suspect = true
  leaveRunning(task, task.crashes >= maxCrashes ? 'DEAD' : 'PENDING')
}

export function timeOut(task: ModelTask): void {
  if (task.marked) leaveRunning(task, 'CANCELLED')
  else failOnce(task)
}

/** Whether it was possible. */
export function cancel(task: ModelTask): boolean {
  if (task.status === 'RUNNING') task.marked = true
  else if (['SUCCEEDED', 'FAILED', 'DEAD'].includes(task.status)) return false
  else task.status = 'CANCELLED'
  return true
}

/** An edit as the model sees it; `due` says that scheduled_at is edited, too. */
export interface ModelEdit {
  readonly payload: string
  readonly maxRetries: number
  readonly due: 'stays' | 'now' | 'later'
}

/** Whether it was possible. */
export function edit(task: ModelTask, { payload, maxRetries, due }: ModelEdit): boolean {
  const isTimed = ['SCHEDULED', 'PENDING'].includes(task.status)
  if (!isTimed && (due !== 'stays' || !['RETRYING', 'BLOCKED'].includes(task.status))) return false
  Object.assign(task, { payload, maxRetries })
  if (due !== 'stays') task.status = due === 'now' ? 'PENDING' : 'SCHEDULED'
  return true
}

/** Whether it was possible. */
export function replay(task: ModelTask): boolean {
  if (!['FAILED', 'DEAD', 'CANCELLED'].includes(task.status)) return false
  Object.assign(task, { status: 'PENDING', failures: 0, crashes: 0, snoozes: 0, run: task.run + 1, suspect: false })
  return true
}
