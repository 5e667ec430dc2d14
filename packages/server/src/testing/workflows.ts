import { encodeLease, type TriggerRule, type Uuid } from '@duly/domain'
import type { SessionState } from '../dispatch/session-state.js'
import type {
  NewTask,
  NewWorkflow,
  ReadWorkflow,
  SubmittedWorkflow,
  WorkflowNodeRecord,
  WorkflowRecord,
} from '../model.js'
import { type Life, reportOf, say, words } from './lives.js'
import { newTask, type TestNode } from './test-node.js'

/** A node of a graph in a test: what it waits for, and how it differs from a plain one. */
export interface NodeSpec {
  readonly after?: readonly string[]
  readonly rule?: TriggerRule
  readonly task?: Partial<NewTask>
}

let graphs = 0

/** A graph by the names of its nodes, in the queue of its own that the tasks are claimed from. */
export function newWorkflow(
  nodes: Readonly<Record<string, NodeSpec>>,
  over: Partial<NewWorkflow> & { readonly queue?: string } = {},
): NewWorkflow & { readonly queue: string } {
  const { queue = `graph-${graphs++}`, tenant = 'acme', ...rest } = over
  const places = new Map(Object.keys(nodes).map((name, place) => [name, place]))
  return {
    ...{ tenant, queue, boundTo: null, name: 'graph', scheduledAtMs: null, failurePolicy: 'fail_dependents' },
    ...{ metadata: null, idempotencyKey: null, requestHash: null, traceparent: null },
    nodes: Object.entries(nodes).map(([name, { after = [], rule = 'all_succeeded', task = {} }]) => ({
      name,
      task: newTask({ queue, tenant, ...task }),
      dependencies: after.map((parent) => places.get(parent) as number),
      triggerRule: rule,
    })),
    ...rest,
  }
}

/** A workflow under way in a test: its nodes are run by hand, by a worker of its own. */
export class Graph {
  readonly node: TestNode
  readonly id: Uuid
  readonly queue: string
  readonly ids: ReadonlyMap<string, Uuid>
  readonly submitted: SubmittedWorkflow
  readonly worker: SessionState
  readonly #lives = new Map<string, Life>()

  private constructor(node: TestNode, queue: string, submitted: SubmittedWorkflow, worker: SessionState) {
    this.node = node
    this.queue = queue
    this.submitted = submitted
    this.id = submitted.id
    this.ids = new Map(submitted.nodes.map(({ name, id }) => [name, id]))
    this.worker = worker
  }

  static async submit(
    node: TestNode,
    nodes: Readonly<Record<string, NodeSpec>>,
    over: Parameters<typeof newWorkflow>[1] = {},
  ): Promise<Graph> {
    const { queue, ...workflow } = newWorkflow(nodes, over)
    const worker = await node.worker({ queues: [queue] })
    return new Graph(node, queue, await node.workflows.submit(workflow), worker)
  }

  idOf(name: string): Uuid {
    const id = this.ids.get(name)
    if (id === undefined) throw new Error(`no node ${name}`)
    return id
  }

  /** Claims all that is ready; the names, in their order. */
  async claim(by: TestNode = this.node): Promise<string[]> {
    const tasks = await by.claim(this.worker, 500, { queue: this.queue })
    for (const task of tasks) {
      const life = { id: task.id, queue: this.queue, worker: this.worker, lease: encodeLease(task) }
      this.#lives.set(task.nodeName ?? '', life)
    }
    return tasks.map(({ nodeName }) => nodeName ?? '').sort()
  }

  /** The running attempt of a node that was claimed. */
  life(name: string): Life {
    const life = this.#lives.get(name)
    if (!life) throw new Error(`${name} does not run`)
    return life
  }

  /** Ends a running node. */
  async say(name: string, said: Parameters<typeof say>[2] = words.succeed, by: TestNode = this.node) {
    return say(by, this.life(name), said)
  }

  /** Ends several running nodes by one batch of reports. */
  async sayAll(names: readonly string[], said: Parameters<typeof say>[2] = words.succeed) {
    const reports = names.map((name) => reportOf(this.life(name), said))
    return this.node.reports.report(this.worker, reports)
  }

  /** Claims and ends all that is ready until nothing is; the names in the order of their turns. */
  async run(outcome: (name: string) => Parameters<typeof say>[2] = () => words.succeed): Promise<string[][]> {
    const turns: string[][] = []
    for (let names = await this.claim(); names.length > 0; names = await this.claim()) {
      turns.push(names)
      for (const name of names) await this.say(name, outcome(name))
      await this.node.nodeEnds.drained()
    }
    return turns
  }

  async status(): Promise<string> {
    return (await this.node.workflows.read(this.id, null, whole)).status
  }

  /** Where each node stands, as `name: STATUS` or, with a reason, `name: STATUS reason`. */
  async standing(): Promise<Record<string, string>> {
    const { graph } = await this.node.workflows.read(this.id, null, whole)
    return Object.fromEntries(
      graph.map(({ name, status, reason }) => [name, reason === null ? status : `${status} ${reason}`]),
    )
  }
}

/** A workflow as one record. */
export const whole: ReadWorkflow<WorkflowRecord> = async (reading) => {
  const graph: WorkflowNodeRecord[] = []
  for await (const part of reading.parts) graph.push(...part)
  return { ...reading.workflow, graph, criticalPath: reading.criticalPath() }
}
