import type { Uuid } from '@duly/domain'
import type { AskedWorkflow } from '../load/graphs.js'
import type { Finding } from './finding.js'
import { groupBy } from './group-by.js'
import type { TaskHistory } from './history.js'
import type { StoredNode, WorkflowHistory } from './workflow-history.js'
import { askedNodes } from './workflow-lives.js'
import type { WorkflowCall, WorkflowSubmission } from './workflow-log.js'

/** What was asked for under each mark; each mark is one request, perhaps sent several times under its key. */
export function askedByMark(log: readonly WorkflowCall[]): ReadonlyMap<string, AskedWorkflow> {
  return new Map(log.flatMap((call) => (call.verb === 'submit' ? [[call.asked.mark, call.asked] as const] : [])))
}

/** Point 1: every accepted workflow is there, whole and once, as it was asked for; a refused one left nothing. */
export function checkWorkflowSubmissions(
  log: readonly WorkflowCall[],
  workflows: readonly WorkflowHistory[],
  tasks: ReadonlyMap<Uuid, TaskHistory>,
): Finding[] {
  const calls = groupBy(
    log.filter((call): call is WorkflowSubmission => call.verb === 'submit'),
    ({ asked }) => asked.mark,
  )
  const stored = groupBy(workflows, ({ mark }) => mark ?? '')
  const asked = askedByMark(log)
  return [
    ...[...calls].flatMap(([mark, some]) => judge(mark, some, stored.get(mark) ?? [])),
    ...workflows.flatMap((workflow) => {
      const wanted = asked.get(workflow.mark ?? '')
      if (!wanted) return [finding('a workflow that nobody submitted', workflow.id, `its mark is ${workflow.mark}`)]
      return checkGraph(workflow, wanted, tasks)
    }),
  ]
}

function judge(mark: string, calls: readonly WorkflowSubmission[], stored: readonly WorkflowHistory[]): Finding[] {
  const ids = stored.map(({ id }) => id)
  const answered = [...new Set(calls.flatMap(({ id }) => id ?? []))]
  const findings = answered
    .filter((id) => !ids.includes(id))
    .map((id) => finding('an accepted workflow is missing', id, `mark ${mark}; stored under it: ${ids.join(', ')}`))
  if (answered.length > 1) findings.push(finding('one workflow was answered with two ids', mark, answered.join(', ')))
  if (ids.length > 1) findings.push(finding('one submission made several workflows', mark, ids.join(', ')))
  if (ids.length > 0 && calls.every(({ outcome }) => outcome === 'fail'))
    findings.push(finding('a refused submission made a workflow', mark, ids.join(', ')))
  return findings
}

/** Its nodes are those that were asked for, and all or none of what a task adds: all, if that task succeeded. */
function checkGraph(workflow: WorkflowHistory, asked: AskedWorkflow, tasks: ReadonlyMap<Uuid, TaskHistory>): Finding[] {
  const wanted = askedNodes(asked)
  const stored = new Map(workflow.nodes.map((node) => [node.name, node]))
  const statusOf = (name: string | undefined) => tasks.get(stored.get(name ?? '')?.id ?? '')?.status
  const adders = new Set(workflow.nodes.flatMap(({ addedBy }) => addedBy ?? []))
  const missing = [...wanted.values()].filter(({ name, adder }) => {
    const isDue = adder === undefined || adders.has(adder) || statusOf(adder) === 'SUCCEEDED'
    return isDue && !stored.has(name)
  })
  return [
    ...missing.map(({ name }) => finding('a node is missing', workflow.id, name)),
    ...workflow.nodes.flatMap((node) => {
      const plan = wanted.get(node.name)
      const told = textOf(node.rule, node.parents, node.addedBy)
      if (!plan) return [finding('a node that nobody asked for', workflow.id, `${node.name}: ${told}`)]
      const expected = textOf(plan.rule, plan.after, plan.adder ?? null)
      if (told === expected) return []
      return [finding('a node is not as it was asked for', workflow.id, `${node.name}: ${told}, not ${expected}`)]
    }),
  ]
}

const textOf = (rule: string, parents: StoredNode['parents'], adder: string | null): string =>
  `${rule} of ${[...parents].sort().join(' ') || 'nothing'}, added by ${adder ?? 'nobody'}`

function finding(rule: string, subject: string, detail: string): Finding {
  return { point: 1, rule, subject, detail }
}
