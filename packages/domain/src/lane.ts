/** The priorities, the most urgent first, with the code that the store keeps. */
export const priorities = [
  { code: 1, name: 'high' },
  { code: 2, name: 'medium' },
  { code: 3, name: 'low' },
] as const

/** A priority as the store keeps it: 1 high, 2 medium, 3 low. */
export type Priority = (typeof priorities)[number]['code']
/** A priority as the wire names it. */
export type PriorityName = (typeof priorities)[number]['name']

/** The code of a priority. */
export function priorityCode(name: PriorityName): Priority {
  return name === 'high' ? 1 : name === 'medium' ? 2 : 3
}

/** The name of a priority. */
export function priorityName(code: Priority): PriorityName {
  return code === 1 ? 'high' : code === 2 ? 'medium' : 'low'
}

/** Gates that no task type can name: `!` is not among the characters of a name. */
export const gates = {
  /** No limit applies. */
  none: '',
  /** A crash or an undelivered grant lies behind the task: a session holds at most one such task. */
  suspect: '!suspect',
  /** Accepted while the queue was nearly full: served only once it is below half of its cap. */
  overflow: '!overflow',
} as const

/** Where a ready task waits. Tasks of a lane are interchangeable to selection: they are taken by `ready_at`, then id. */
export interface Lane {
  readonly queue: string
  readonly priority: Priority
  readonly tenant: string
  /** Empty, one of `gates`, or the task type (and concurrency key) that a limit applies to. */
  readonly gate: string
}

/** One text per lane. Queue and tenant are names, which hold no blank; the gate may hold anything and stands last. */
export function laneKey(lane: Lane): string {
  return `${lane.priority} ${lane.queue} ${lane.tenant} ${lane.gate}`
}
