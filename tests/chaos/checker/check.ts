import pg from 'pg'
import type { LaunchedGraph } from '../load/plans.js'
import type { Call } from './client-log.js'
import { checkDeadLetters } from './dead-letters.js'
import { checkEdits } from './edits.js'
import { checkEnds } from './ends.js'
import { checkFences } from './fences.js'
import type { Finding } from './finding.js'
import { checkFireTimes, readCronHistory } from './fire-times.js'
import type { HandlerRecord } from './handler-log.js'
import { readHistory, type TaskHistory } from './history.js'
import { checkInvariants } from './invariants.js'
import { launchesOf } from './launches.js'
import { checkLifecycle } from './lifecycle.js'
import { checkOutput, type ProcessOutput } from './output.js'
import { checkStops } from './stops.js'
import { checkDrained, checkSubmissions } from './submissions.js'
import { readWorkflowHistory, type WorkflowHistory } from './workflow-history.js'
import type { WorkflowCall } from './workflow-log.js'
import { checkWorkflows } from './workflows.js'

export interface Evidence {
  readonly clientLog: readonly Call[]
  readonly workflowLog?: readonly WorkflowCall[]
  /** What recurring tasks launch. */
  readonly launched?: LaunchedGraph
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
  launched,
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
      ...checkWorkflows({
        workflowLog: [...workflowLog, ...launchesOf(history, launched)],
        clientLog,
        handlerLog,
        history,
        workflows,
      }),
      ...checkDeadLetters(clientLog, history, (task) => mayAlwaysRun(task, workflows, workflowLog)),
      ...checkFireTimes(await readCronHistory(client)),
      ...stored,
      ...checkOutput(processes, [...clientLog, ...workflowLog]),
    ]
  } finally {
    await client.end()
  }
}

/** No rule and no cancellation of its workflow can keep a dead task from being run again. */
function mayAlwaysRun(
  { id, workflowId }: TaskHistory,
  workflows: readonly WorkflowHistory[],
  calls: readonly WorkflowCall[],
): boolean {
  if (workflowId === null) return true
  const node = workflows.find((each) => each.id === workflowId)?.nodes.find((each) => each.id === id)
  const isCancelled = calls.some((call) => call.verb === 'cancel' && call.id === workflowId)
  return !isCancelled && (node?.rule === 'all_succeeded' || node?.parents.length === 0)
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
    ...checkEdits(clientLog, handlerLog, history),
    ...checkStops(clientLog, history),
  ]
}
