import { type Call, isSubmission } from './client-log.js'
import type { Finding } from './finding.js'
import { takingRules, verdictsOf } from './graph-rules.js'
import { type Life, lifeIn, type NodeLives, type PlayedWorkflow, parentsIn, wasJudgedAway } from './workflow-lives.js'
import type { WorkflowCall } from './workflow-log.js'

/** What clients asked to be cancelled, and may have been. */
export interface Cancellations {
  readonly workflows: ReadonlySet<string>
  readonly tasks: ReadonlySet<string>
}

export function cancellationsOf(log: readonly WorkflowCall[], calls: readonly Call[]): Cancellations {
  const workflows = log.flatMap((call) => (call.verb === 'cancel' && call.outcome !== 'fail' ? [call.id] : []))
  const tasks = calls.flatMap((call) =>
    !isSubmission(call) && call.verb === 'cancel' && call.outcome !== 'fail' ? [call.id] : [],
  )
  return { workflows: new Set(workflows), tasks: new Set(tasks) }
}

/**
 * Point 6: each node ended in each run as its trigger rule says by how its dependencies ended, or as its workflow was stopped; the workflow
 * ended as its nodes and its policy say. Reckoned from the ends alone, whatever way led to them.
 */
export function checkWorkflowEnds(played: PlayedWorkflow, asked: Cancellations): Finding[] {
  const { workflow, runs } = played
  const nodes = [...played.nodes.values()]
  const findings = nodes.flatMap((node) => node.lives.flatMap((life) => judgeLife(played, { node, life, asked })))
  if (workflow.run !== runs)
    findings.push(about(played, 'runs and retries differ', `${workflow.run} runs, ${runs} told by its nodes`))
  // of a cancellation in an earlier run nothing is kept but what it cancelled
  const mayBeCancelled = asked.workflows.has(workflow.id)
  for (let run = 1; run < runs && !mayBeCancelled; run += 1) {
    if (statusAfter(played, run) === 'SUCCEEDED')
      findings.push(about(played, 'a workflow that had succeeded was run again', `run ${run}`))
  }
  return [...findings, ...checkVerdict(played, asked)]
}

interface Judged {
  readonly node: NodeLives
  readonly life: Life
  readonly asked: Cancellations
}

function judgeLife(played: PlayedWorkflow, { node, life, asked }: Judged): Finding[] {
  const verdicts = verdictsOf(node.rule, parentsIn(played, node, life.run))
  const told = `${node.name} in run ${life.run}: ${life.status} ${life.reason ?? ''}, ${node.rule} of ${parentsIn(played, node, life.run).join(' ') || 'nothing'}`
  const hasRun = life.attempts.last >= life.attempts.first
  if (wasJudgedAway(life)) {
    const verdict = life.status === 'FAILED' ? 'fail' : 'skip'
    const findings = verdicts.includes(verdict) ? [] : [about(played, 'a node ended against its trigger rule', told)]
    return hasRun ? [...findings, about(played, 'a node that was not to run has run', told)] : findings
  }
  const findings: Finding[] = []
  // what was cancelled while it waited for others can have been stopped before they decided about it
  if ((hasRun || !life.wasBlocked) && !verdicts.includes('run'))
    findings.push(about(played, 'a node ran against its trigger rule', told))
  if (life.status === 'CANCELLED') return [...findings, ...checkReason(played, { node, life, asked }, told)]
  return hasRun ? findings : [...findings, about(played, 'a node ended without having run', told)]
}

function checkReason(played: PlayedWorkflow, { node, life, asked }: Judged, told: string): Finding[] {
  const { workflow } = played
  switch (life.reason) {
    case 'workflow_cancelled':
      return asked.workflows.has(workflow.id) ? [] : [about(played, 'cancelled, though nobody asked', told)]
    case 'workflow_failed': {
      const isCaused =
        workflow.failurePolicy === 'fail_fast' && failedIn(played, life.run).some(({ run }) => run === life.run)
      return isCaused ? [] : [about(played, 'cancelled for a failure that is not there', told)]
    }
    case 'cancelled':
    case 'cancel_requested':
      return asked.tasks.has(node.task.id) ? [] : [about(played, 'cancelled, though nobody asked', told)]
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

const failedIn = (played: PlayedWorkflow, run: number): Life[] =>
  [...played.nodes.values()].flatMap((node) => {
    const life = lifeIn(node, run)
    return life && (life.status === 'FAILED' || life.status === 'DEAD') ? [life] : []
  })

/** How a run ends that nobody cancels. What the workflow stopped earlier and no retry opened again counts still. */
function statusAfter(played: PlayedWorkflow, run: number): 'SUCCEEDED' | 'FAILED' | 'CANCELLED' {
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
