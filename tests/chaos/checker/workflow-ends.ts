import { type Call, isOfTask } from './client-log.js'
import type { Finding } from './finding.js'
import { takingRules, verdictsOf } from './graph-rules.js'
import { ROUNDING_MS, TURN_MS } from './instants.js'
import {
  hasRun,
  type Life,
  lifeIn,
  type NodeLives,
  type PlayedWorkflow,
  startsOf,
  wasJudgedAway,
} from './workflow-lives.js'
import type { WorkflowCall } from './workflow-log.js'
import { standingsDuring } from './workflow-standings.js'

/** What clients asked to be cancelled, and may have been. */
export interface Cancellations {
  readonly workflows: ReadonlySet<string>
  readonly tasks: ReadonlySet<string>
  /** Workflows whose tasks were to be cancelled one by one. */
  readonly swept: ReadonlySet<string>
}

export function cancellationsOf(log: readonly WorkflowCall[], calls: readonly Call[]): Cancellations {
  const workflows = log.flatMap((call) => (call.verb === 'cancel' && call.outcome !== 'fail' ? [call.id] : []))
  const tasks = calls.flatMap((call) =>
    isOfTask(call) && call.verb === 'cancel' && call.outcome !== 'fail' ? [call.id] : [],
  )
  const swept = calls.flatMap((call) =>
    call.verb === 'bulk' && call.action === 'cancel' && call.outcome !== 'fail' ? (call.workflow ?? []) : [],
  )
  return { workflows: new Set(workflows), tasks: new Set(tasks), swept: new Set(swept) }
}

/**
 * Point 6: each node ended in each run as its trigger rule says by how its dependencies ended, or as its workflow was stopped; the workflow
 * ended as its nodes and its policy say. Reckoned from the ends alone, whatever way led to them.
 */
export function checkWorkflowEnds(played: PlayedWorkflow, asked: Cancellations): Finding[] {
  const { workflow, runs } = played
  const nodes = [...played.nodes.values()]
  const findings = nodes.flatMap((node) => node.lives.flatMap((life) => judgeLife(played, { node, life, asked })))
  findings.push(...nodes.flatMap((node) => checkFirstStart(played, node)))
  if (workflow.run !== runs)
    findings.push(about(played, 'runs and retries differ', `${workflow.run} runs, ${runs} told by its nodes`))
  return [...findings, ...checkVerdict(played, asked)]
}

/** What is to start before an instant does not start behind it, unless it was run again. */
function checkFirstStart(played: PlayedWorkflow, node: NodeLives): Finding[] {
  const [life] = node.lives
  const startedAt = life && hasRun(life) ? startsOf(node).get(1) : undefined
  if (node.expiresAt === null || startedAt === undefined || startedAt < node.expiresAt + ROUNDING_MS) return []
  return [about(played, 'started past its expiry', `${node.name}: ${startedAt}, to start before ${node.expiresAt}`)]
}

interface Judged {
  readonly node: NodeLives
  readonly life: Life
  readonly asked: Cancellations
}

function judgeLife(played: PlayedWorkflow, { node, life, asked }: Judged): Finding[] {
  const standings = standingsDuring(played, node, life)
  const verdicts = standings.flatMap((parents) => verdictsOf(node.rule, parents))
  const stood = [...new Set(standings.map((parents) => parents.join(' ')))].slice(-3).join(' | ')
  const told = `${node.name} in run ${life.run}: ${life.status} ${life.reason ?? ''}, ${node.rule} of ${stood || 'nothing'}`
  if (wasJudgedAway(life)) {
    const verdict = life.status === 'FAILED' ? 'fail' : 'skip'
    const findings = verdicts.includes(verdict) ? [] : [about(played, 'a node ended against its trigger rule', told)]
    return hasRun(life) ? [...findings, about(played, 'a node that was not to run has run', told)] : findings
  }
  const findings: Finding[] = []
  // what was cancelled while it waited for others can have been stopped before they decided about it
  if ((hasRun(life) || !life.wasBlocked) && !verdicts.includes('run'))
    findings.push(about(played, 'a node ran against its trigger rule', told))
  if (life.status === 'CANCELLED') return [...findings, ...checkReason(played, { node, life, asked }, told)]
  return hasRun(life) ? findings : [...findings, about(played, 'a node ended without having run', told)]
}

function checkReason(played: PlayedWorkflow, { node, life, asked }: Judged, told: string): Finding[] {
  const { workflow } = played
  switch (life.reason) {
    case 'workflow_cancelled':
      return asked.workflows.has(workflow.id) ? [] : [about(played, 'cancelled, though nobody asked', told)]
    case 'workflow_failed': {
      const isCaused = workflow.failurePolicy === 'fail_fast' && failedWithin(played, life)
      return isCaused ? [] : [about(played, 'cancelled for a failure that is not there', told)]
    }
    case 'expired':
      return checkExpired(played, { node, life }, told)
    case 'cancelled':
    case 'cancel_requested':
      return asked.tasks.has(node.task.id) || asked.swept.has(workflow.id)
        ? []
        : [about(played, 'cancelled, though nobody asked', told)]
    default:
      return [about(played, 'cancelled for a reason that nothing here has', told)]
  }
}

function checkVerdict(played: PlayedWorkflow, asked: Cancellations): Finding[] {
  const { workflow, runs } = played
  const findings: Finding[] = []
  if (workflow.isCancelRequested && !asked.workflows.has(workflow.id))
    findings.push(about(played, 'a cancellation that nobody asked for', ''))
  const expected = workflow.isCancelRequested ? 'CANCELLED' : statusAfter(played, runs)
  if (workflow.status === expected) return findings
  const why = `${workflow.status}, not ${expected}; failures: ${failuresIn(played, runs).join(' ')}`
  return [...findings, about(played, 'the workflow ended otherwise than its nodes', why)]
}

/** It never ran, was never run again, and its time was over. */
function checkExpired(played: PlayedWorkflow, { node, life }: Omit<Judged, 'asked'>, told: string): Finding[] {
  const mayExpire = node.expiresAt !== null && life.run === 1 && !hasRun(life)
  if (!mayExpire) return [about(played, 'expired, though it was not to', told)]
  const isOver = life.endedAt + ROUNDING_MS > (node.expiresAt ?? 0)
  return isOver ? [] : [about(played, 'expired before its time', `${told}, ${life.endedAt} before ${node.expiresAt}`)]
}

/** Whether something failed while it was open. */
const failedWithin = (played: PlayedWorkflow, { openedAt, endedAt, run, until }: Life): boolean =>
  [...played.nodes.values()].some(({ lives }) =>
    lives.some(
      (life) =>
        (life.status === 'FAILED' || life.status === 'DEAD') &&
        life.run < until &&
        run < life.until &&
        life.endedAt > openedAt - TURN_MS &&
        life.endedAt < endedAt + TURN_MS,
    ),
  )

/** How a run ends that nobody cancels. What the workflow stopped earlier and no retry opened again counts still. */
export function statusAfter(played: PlayedWorkflow, run: number): 'SUCCEEDED' | 'FAILED' | 'CANCELLED' {
  const lives = [...played.nodes.values()].flatMap((node) => lifeIn(node, run) ?? [])
  const isStopped = (by: string) => lives.some(({ status, reason }) => status === 'CANCELLED' && reason === by)
  if (failuresIn(played, run).length > 0 || isStopped('workflow_failed')) return 'FAILED'
  const hasSucceeded = lives.some(({ status }) => status === 'SUCCEEDED')
  return hasSucceeded && !isStopped('workflow_cancelled') ? 'SUCCEEDED' : 'CANCELLED'
}

/** The names of the nodes that fail the workflow: under `fail_fast` all that failed, else those whose failure no other node took in. */
function failuresIn(played: PlayedWorkflow, run: number): string[] {
  const nodes = [...played.nodes.values()]
  const taken = new Set(
    nodes.flatMap((node) => {
      const life = lifeIn(node, run)
      const hasBegun = life !== undefined && !wasJudgedAway(life) && !life.wasBlocked
      return hasBegun && takingRules.has(node.rule) ? node.parents : []
    }),
  )
  return nodes.flatMap((node) => {
    const life = lifeIn(node, run)
    const isFailed = life?.status === 'FAILED' || life?.status === 'DEAD'
    const isTaken = played.workflow.failurePolicy === 'fail_dependents' && taken.has(node.name)
    return isFailed && !isTaken ? [node.name] : []
  })
}

function about({ workflow }: PlayedWorkflow, rule: string, detail: string): Finding {
  return { point: 6, rule, subject: `${workflow.id} (${workflow.mark})`, detail }
}
