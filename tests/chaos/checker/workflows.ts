import type { Call } from './client-log.js'
import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { HandlerRecord } from './handler-log.js'
import type { TaskHistory } from './history.js'
import { asksOf, opensOf } from './workflow-asks.js'
import { cancellationsOf, checkWorkflowEnds } from './workflow-ends.js'
import type { WorkflowHistory } from './workflow-history.js'
import { playedOf } from './workflow-lives.js'
import type { WorkflowCall } from './workflow-log.js'
import { checkLooks, looksOf } from './workflow-looks.js'
import { checkResults } from './workflow-results.js'
import { checkRetries } from './workflow-retries.js'
import { askedByMark, checkWorkflowSubmissions } from './workflow-submissions.js'

export interface WorkflowEvidence {
  readonly workflowLog: readonly WorkflowCall[]
  /** Calls about single tasks. */
  readonly clientLog: readonly Call[]
  readonly handlerLog: readonly HandlerRecord[]
  readonly history: readonly TaskHistory[]
  readonly workflows: readonly WorkflowHistory[]
}

/** Points 1 and 6: the workflows that were accepted are there, and ran as their graphs say; see the parts. */
export function checkWorkflows({
  workflowLog,
  clientLog,
  handlerLog,
  history,
  workflows,
}: WorkflowEvidence): Finding[] {
  const tasks = new Map(history.map((task) => [task.id, task]))
  const records = groupBy(handlerLog, ({ id }) => id)
  const cancellations = cancellationsOf(workflowLog, clientLog)
  const looks = looksOf(workflowLog)
  const asks = asksOf(clientLog)
  const asked = askedByMark(workflowLog)
  return [
    ...checkWorkflowSubmissions(workflowLog, workflows, tasks),
    ...workflows.flatMap((workflow): Finding[] => {
      const wanted = asked.get(workflow.mark ?? '')
      if (workflow.status === 'RUNNING') return [neverEnded(workflow)]
      const played = wanted ? playedOf(workflow, wanted, tasks) : null
      if (!played) return []
      const own = looks.get(workflow.id) ?? []
      return [
        ...checkWorkflowEnds(played, cancellations),
        ...checkRetries(played, { looks: own, asks, mayBeCancelled: cancellations.workflows.has(workflow.id) }),
        ...checkResults(played, records),
        ...checkLooks(played, own, opensOf(played, own, asks)),
      ]
    }),
  ]
}

function neverEnded({ id, mark, nodes }: WorkflowHistory): Finding {
  return { point: 6, rule: 'a workflow never ended', subject: `${id} (${mark})`, detail: `${nodes.length} nodes` }
}
