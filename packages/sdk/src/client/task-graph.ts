import type { NoDependencies, ResultOf } from '../define-task.js'
import { checkOptions, namesOf, type OptionNames } from '../known-options.js'
import type { StandardSchema } from '../standard-schema.js'
import {
  type AnyTask,
  checkTask,
  checkTaskOptions,
  describe,
  encodeSubmission,
  type SubmitArguments,
  type SubmitOptions,
  type SubmitResult,
  submitOptionNames,
  toSubmission,
} from './submission.js'
import type { TriggerRule } from './workflow-records.js'

/** A task of a graph that is being put together; what others wait for. */
export class WorkflowNode<Name extends string = string, Result = unknown> {
  readonly name: Name
  /** The task type. */
  readonly type: string
  readonly result: StandardSchema<unknown, Result> | undefined

  constructor(
    name: Name,
    task: { readonly type: string; readonly result: StandardSchema<unknown, Result> | undefined },
  ) {
    this.name = name
    this.type = task.type
    this.result = task.result
  }
}

/** What a task can wait for: one of the same graph; where the workflow is there already, also a name in it. */
export type NodeRef = WorkflowNode | string

/** What a task of a workflow may say: everything of a submission but what the workflow says. */
export interface NodeOptions<After extends readonly NodeRef[] = readonly NodeRef[]>
  extends Omit<SubmitOptions, 'idempotencyKey' | 'tenant' | 'traceparent' | 'signal'> {
  /** The tasks whose ends it waits for. */
  readonly after?: After
  /** When it runs, by how those ended; `all_succeeded` unless given. */
  readonly triggerRule?: TriggerRule
}

type NameOf<Ref> = Ref extends WorkflowNode<infer Name, unknown> ? Name : Ref extends string ? Ref : never

/** What `after` gives under a name: of a name in the workflow that is there, whatever is asked for. */
type Given<Name, After extends readonly NodeRef[]> = Extract<After[number], Name | { readonly name: Name }>

type IsGiven<Name, Definition, After extends readonly NodeRef[]> =
  Given<Name, After> extends WorkflowNode<string, infer Result>
    ? [Result] extends [ResultOf<Definition>]
      ? true
      : false
    : true

/** The dependencies that `after` does not give. */
type Missing<Dependencies, After extends readonly NodeRef[]> = Exclude<
  keyof Dependencies & string,
  NameOf<After[number]>
>

/** Those that it gives with another result. */
type Different<Dependencies, After extends readonly NodeRef[]> = {
  [Name in keyof Dependencies & string]: IsGiven<Name, Dependencies[Name], After> extends true ? never : Name
}[keyof Dependencies & string]

/**
 * Whatever a definition is when its dependencies are given; nothing is what they are when not. Of nodes whose names only the program knows
 * when it runs it is left to the check there.
 */
export type WithAll<Dependencies, After extends readonly NodeRef[]> =
  string extends NameOf<After[number]>
    ? unknown
    : [Missing<Dependencies, After>] extends [never]
      ? [Different<Dependencies, After>] extends [never]
        ? unknown
        : { readonly 'another result than it reads, in `after`': Different<Dependencies, After> }
      : { readonly 'what it reads, in `after`': Missing<Dependencies, After> }

type DependenciesOf<Task> = Task extends { readonly dependencies: infer Dependencies } ? Dependencies : NoDependencies

interface Draft {
  readonly node: WorkflowNode
  readonly task: AnyTask | string
  readonly payload: unknown
  readonly options: NodeOptions
}

const nodeNames: OptionNames = {
  names: [
    ...submitOptionNames.names.filter((name) => !['idempotencyKey', 'tenant', 'traceparent', 'signal'].includes(name)),
    ...namesOf<Pick<NodeOptions, 'after' | 'triggerRule'>>({ after: true, triggerRule: true }),
  ],
  elsewhere: {
    ...submitOptionNames.elsewhere,
    ...{ dependencies: 'after', depends_on: 'after', trigger_rule: 'triggerRule' },
  },
}

/** Puts a graph of tasks together. A task waits for tasks that are there already, so there is no cycle. */
export class TaskGraph<Ref extends NodeRef = WorkflowNode> {
  readonly #drafts = new Map<string, Draft>()
  readonly #call: string
  readonly #mayNameOthers: boolean

  protected constructor(call: string, options: { readonly mayNameOthers: boolean }) {
    this.#call = call
    this.#mayNameOthers = options.mayNameOthers
  }

  /**
   * Adds a task, by its definition or its type alone. Its name is unique in the workflow; what it waits for stands in `after`.
   *
   * @throws TypeError for an unknown option, for a name that is taken, and when a dependency of its definition is not in `after`
   */
  task<Name extends string, Task extends AnyTask | string, const After extends readonly Ref[] = readonly []>(
    name: Name,
    task: Task & WithAll<DependenciesOf<Task>, After>,
    ...[payload, options]: SubmitArguments<Task, NodeOptions<After>>
  ): WorkflowNode<Name, SubmitResult<Task>> {
    return this.#add(name, task, { payload, options: options ?? {} }) as WorkflowNode<never, never>
  }

  #add(name: string, task: AnyTask | string, { payload, options }: Pick<Draft, 'payload' | 'options'>): WorkflowNode {
    if (typeof name !== 'string') {
      throw new TypeError(
        `${this.#call}: the name comes first: task('name', task, payload, options); it is ${describe(name)}`,
      )
    }
    const place = `${this.#call}, task ${JSON.stringify(name)}`
    checkTask(place, task)
    checkOptions(place, options, nodeNames)
    if (holdsNodes(payload))
      throw new TypeError(`${place}: after is an option, and stands in the payload; options come behind it`)
    checkTaskOptions(place, options)
    if (this.#drafts.has(name)) throw new TypeError(`${place}: there is a task of this name already`)
    const definition = typeof task === 'string' ? { type: task, result: undefined } : task
    this.#checkAfter(place, options.after ?? [])
    if (typeof task !== 'string') checkDependencies(place, task, options.after ?? [])
    const node = new WorkflowNode(name, definition)
    this.#drafts.set(name, { node, task, payload, options })
    return node
  }

  /** Tasks that were put together. */
  get size(): number {
    return this.#drafts.size
  }

  /** Whether a node was made by this graph. */
  protected owns(node: WorkflowNode): boolean {
    return this.#drafts.get(node.name)?.node === node
  }

  /**
   * The JSON texts of the tasks, in the order in which they were added.
   *
   * @throws InvalidPayloadError, RangeError for a duration that is none
   */
  protected async encode(): Promise<readonly string[]> {
    const texts: string[] = []
    for (const { node, task, payload, options } of this.#drafts.values()) {
      const { after = [], triggerRule, ...rest } = options
      const submission = await toSubmission(task, payload, rest)
      const dependencies = after.length === 0 ? undefined : after.map(nameOf)
      texts.push(encodeSubmission({ task_id: node.name, ...submission, dependencies, trigger_rule: triggerRule }))
    }
    return texts
  }

  #checkAfter(place: string, after: readonly NodeRef[]): void {
    if (!Array.isArray(after)) throw new TypeError(`${place}: after must be a list of tasks`)
    for (const ref of after as readonly NodeRef[]) {
      if (typeof ref !== 'string' && !(ref instanceof WorkflowNode))
        throw new TypeError(`${place}: after must be a list of tasks; it has ${ref === null ? 'null' : typeof ref}`)
      if (typeof ref === 'string' ? this.#mayNameOthers : this.owns(ref)) continue
      throw new TypeError(`${place}: ${JSON.stringify(nameOf(ref))} in after is no task that this graph has`)
    }
  }
}

/** Options in the place of the payload: no payload has tasks of a graph in it. */
function holdsNodes(payload: unknown): boolean {
  const { after } = (payload ?? {}) as { readonly after?: unknown }
  return [after].flat().some((ref) => ref instanceof WorkflowNode)
}

function checkDependencies(place: string, { dependencies }: AnyTask, after: readonly NodeRef[]): void {
  for (const [name, { type }] of Object.entries<{ readonly type: string }>(dependencies)) {
    const given = after.find((ref) => nameOf(ref) === name)
    if (given === undefined) throw new TypeError(`${place}: it reads the result of ${name}, which is not in after`)
    if (typeof given === 'string' || given.type === type) continue
    throw new TypeError(`${place}: ${name} must be a task of the type ${type}, and is one of ${given.type}`)
  }
}

const nameOf = (ref: NodeRef): string => (typeof ref === 'string' ? ref : ref.name)
