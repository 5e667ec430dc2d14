const NEXT = {
  idle: ['starting', 'stopping'],
  starting: ['running', 'stopping'],
  running: ['stopping'],
  stopping: ['stopped'],
  stopped: [],
} as const

/** Where a worker stands in its life. */
export type WorkerState = keyof typeof NEXT

/** @throws Error for a step that no worker makes */
export function nextState(from: WorkerState, to: WorkerState): WorkerState {
  const steps: readonly WorkerState[] = NEXT[from]
  if (!steps.includes(to)) throw new Error(`a worker cannot go from ${from} to ${to}`)
  return to
}
