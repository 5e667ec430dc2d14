import {
  type GraphError,
  type GraphNode,
  isName,
  limits,
  type TriggerRule,
  triggerRules,
  validateGraph,
} from '@duly/domain'
import { fieldsOf } from './cron-rules.js'
import type { Captures } from './json-captures.js'
import { batchPlace, type RuleError, sizeError, submissionErrors } from './submission-rules.js'

/** What is captured of every body that has tasks of a workflow. */
export const nodeCaptures = [
  { path: 'tasks[*]', opaque: false },
  { path: 'tasks[*].payload', opaque: true },
  { path: 'tasks[*].metadata', opaque: false },
] as const

const tasksOf = (value: unknown): readonly unknown[] => {
  const { tasks } = fieldsOf(value)
  return Array.isArray(tasks) ? tasks : []
}

/** The rules of the tasks of a workflow that no schema can say: those of each, and those of their graph. */
export function nodesErrors(value: unknown, captures: Captures, payloadMaxBytes: number): RuleError[] {
  return tasksOf(value).flatMap((task, index) => submissionErrors(task, batchPlace(captures, index), payloadMaxBytes))
}

/** What waits for others says by its dependencies whether it waits for the one that adds it. */
export function addedErrors(value: unknown): RuleError[] {
  return tasksOf(value).flatMap((task, index) => {
    const { waits_for_adder: waits, dependencies } = fieldsOf(task)
    if (waits === undefined || !Array.isArray(dependencies) || dependencies.length === 0) return []
    const message = 'must not be given together with dependencies: a task waits for those alone'
    return [{ path: `tasks[${index}].waits_for_adder`, message }]
  })
}

/** The rules of a submission, beside those of its tasks. */
export function workflowErrors(captures: Captures): RuleError[] {
  const errors = sizeError('metadata', captures.text('metadata'), limits.metadataMaxBytes)
  return errors.map(({ path, message }) => ({ path, message }))
}

/**
 * What is wrong with the graph. A task that the schema refuses has no place in one, so it is judged when all of them have their shape.
 *
 * @param options.mayNameOthers dependencies may be tasks that the workflow has already
 */
export function graphErrors(value: unknown, options: { readonly mayNameOthers: boolean }): RuleError[] {
  const tasks = tasksOf(value)
  const nodes = tasks.map(graphNodeOf)
  if (tasks.length > limits.workflowMaxNodes || !nodes.every((node) => node !== null)) return []
  return validateGraph(nodes, options).errors.map(({ message, ...place }) => ({ path: pathOf(place), message }))
}

/** A task as a node; null: it has not the shape of one, which the schema says. */
function graphNodeOf(task: unknown): GraphNode | null {
  const { task_id: name, dependencies = [], trigger_rule: triggerRule = 'all_succeeded' } = fieldsOf(task)
  if (!isNameText(name) || !isRule(triggerRule)) return null
  if (!Array.isArray(dependencies) || !dependencies.every(isNameText)) return null
  return { name, dependencies, triggerRule }
}

const isNameText = (value: unknown): value is string => typeof value === 'string' && isName(value)
const isRule = (value: unknown): value is TriggerRule => triggerRules.some((rule) => rule === value)

const fieldNames = { name: 'task_id', dependencies: 'dependencies', triggerRule: 'trigger_rule' } as const

/** Where an error of the graph stands in the body. */
export function pathOf({ node, dependency, field }: Omit<GraphError, 'message'>): string {
  const path = `tasks[${node}].${fieldNames[field]}`
  return dependency === null ? path : `${path}[${dependency}]`
}
