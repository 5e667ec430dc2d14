import pg from 'pg'
import type { Call } from './client-log.js'
import { checkEnds } from './ends.js'
import { checkFences } from './fences.js'
import type { Finding } from './finding.js'
import { checkFireTimes, readCronHistory } from './fire-times.js'
import type { HandlerRecord } from './handler-log.js'
import { readHistory, type TaskHistory } from './history.js'
import { checkInvariants } from './invariants.js'
import { checkLifecycle } from './lifecycle.js'
import { checkOutput, type ProcessOutput } from './output.js'
import { checkDrained, checkSubmissions } from './submissions.js'
import { readWorkflowHistory } from './workflow-history.js'
import type { WorkflowCall } from './workflow-log.js'
import { checkWorkflows } from './workflows.js'

export interface Evidence {
  readonly clientLog: readonly Call[]
  readonly workflowLog?: readonly WorkflowCall[]
  readonly handlerLog: readonly HandlerRecord[]
  /** The URL of the store. */
  readonly db: string
  readonly processes?: readonly ProcessOutput[]
}

/**
 * Holds what clients heard, what handlers did and what the store says against each other, after healing and quiet time.
 * Empty when every promise was kept.
 */
export async function check({
  clientLog,
  workflowLog = [],
  handlerLog,
  db,
  processes = [],
}: Evidence): Promise<Finding[]> {
  const client = new pg.Client({ connectionString: db })
  await client.connect()
  try {
    const history = await readHistory(client)
    const workflows = await readWorkflowHistory(client)
    const stored = await checkInvariants(client)
    return [
      ...checkLogs({ clientLog, handlerLog, history, paused: pausedOf(processes) }),
      ...checkWorkflows({ workflowLog, clientLog, handlerLog, history, workflows }),
      ...checkFireTimes(await readCronHistory(client)),
      ...stored,
      ...checkOutput(processes, [...clientLog, ...workflowLog]),
    ]
  } finally {
    await client.end()
  }
}

export interface Logs {
  readonly clientLog: readonly Call[]
  readonly handlerLog: readonly HandlerRecord[]
  readonly history: readonly TaskHistory[]
  /** Pids of the processes that were frozen at least once. */
  readonly paused?: ReadonlySet<number>
}

function pausedOf(processes: readonly ProcessOutput[]): ReadonlySet<number> {
  return new Set(processes.filter(({ wasPaused }) => wasPaused).map(({ pid }) => pid))
}

/** The part of the checker that needs no database. */
export function checkLogs({ clientLog, handlerLog, history, paused = new Set() }: Logs): Finding[] {
  return [
    ...checkSubmissions(clientLog, history),
    ...checkDrained(history),
    ...checkFences(handlerLog, history, paused),
    ...checkLifecycle({ calls: clientLog, handlerLog, history }),
    ...checkEnds(clientLog, history),
  ]
}
