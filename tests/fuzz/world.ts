import pg from 'pg'
import { Api, type RawWorker, until, type WireGrant } from '../../packages/server/src/dispatch/testing/http-node.js'
import { resolveConfig } from '../../packages/server/src/node/config.js'
import { startNode } from '../../packages/server/src/node/start-node.js'
import { createLogger } from '../../packages/server/src/telemetry/logger.js'
import { checkInvariants } from '../chaos/checker/invariants.js'
import { type Random, randomOf } from '../chaos/load/random.js'
import { cleanUpLater } from '../support/clean-up.js'
import { createDatabase } from '../support/database.js'
import { Client } from './client.js'
import { type OpenApiDocument, type Operation, operationsOf, resolver, type Schema } from './operations.js'
import { Oracle } from './oracle.js'
import { leaf, memberOf, type Node, type ObjectNode } from './tree.js'

const POOL_SIZE = 200
const GRANTS = 40

/** A whole node on a database of its own, with something of everything in it for requests to meet. */
export class World {
  readonly client: Client
  readonly document: OpenApiDocument
  readonly operations: readonly Operation[]
  readonly resolve: (schema: Schema) => Schema
  readonly oracle: Oracle
  readonly random: Random
  /** Lines that the node logged as errors. */
  readonly complaints: readonly string[]
  readonly #api: Api
  readonly #pool: pg.Pool
  /** Ids that were seen in answers, by the name of their member. */
  readonly #ids = new Map<string, string[]>()
  #worker: RawWorker
  #grants: WireGrant[] = []
  #graph: RunningGraph | null = null
  #graphs = 0
  /** Ids that go with the lease in the body of the next request, by the name of their parameter. */
  readonly #paired = new Map<string, string>()

  constructor(parts: WorldParts) {
    this.client = new Client(parts.api.url)
    cleanUpLater(() => this.client.close())
    this.document = parts.document
    this.operations = operationsOf(parts.document)
    this.resolve = resolver(parts.document)
    this.oracle = new Oracle(parts.document)
    this.random = randomOf(`world of ${parts.name}`)
    this.complaints = parts.complaints
    this.#api = parts.api
    this.#pool = parts.pool
    this.#worker = parts.worker
  }

  operation(id: string): Operation {
    const found = this.operations.find((operation) => operation.id === id)
    if (found === undefined) throw new Error(`there is no operation ${id}`)
    return found
  }

  /** A value for a parameter: mostly something that exists. Undefined: nothing of that name is known. */
  known(name: string): string | undefined {
    const ids = this.#ids.get(name) ?? []
    const paired = this.#paired.get(name)
    this.#paired.delete(name)
    if (paired !== undefined) return paired
    if (name === 'worker_id' && (ids.length === 0 || this.random.next() < 0.8)) return this.#worker.id
    return ids.length === 0 ? undefined : this.random.pick(ids)
  }

  /** Remembers the ids of an answer, so that later requests can name what it made. */
  remember(body: unknown): void {
    if (typeof body !== 'object' || body === null) return
    for (const [member, value] of Object.entries(body)) {
      const name = member === 'next_cursor' ? 'cursor' : member
      if (!/_id$|^cursor$/.test(name) || typeof value !== 'string') continue
      const ids = this.#ids.get(name) ?? []
      this.#ids.set(name, ids)
      if (ids.length < POOL_SIZE) ids.push(value)
      else ids[this.random.integer(0, POOL_SIZE - 1)] = value
    }
  }

  /** Puts leases that live, with their tasks, wherever a body names some; three times in four. */
  fill(node: Node): void {
    if (node.kind === 'list') for (const item of node.items) this.fill(item)
    if (node.kind !== 'object') return
    if (memberOf(node, 'lease') !== undefined && this.random.next() < 0.75) this.#fillLease(node)
    for (const { value } of node.members) this.fill(value)
  }

  #fillLease(node: ObjectNode): void {
    const grant = this.#grantFor(node)
    if (grant !== undefined) fillGrant(node, grant)
  }

  #grantFor(node: ObjectNode): WireGrant | undefined {
    const graph = this.#graph
    if (graph !== null && memberOf(node, 'tasks') !== undefined) {
      this.#paired.set('workflow_id', graph.id)
      return graph.grant
    }
    if (graph !== null && memberOf(node, 'names') !== undefined) {
      this.#paired.set('worker_id', graph.workerId)
      return graph.child
    }
    return memberOf(node, 'task_id') === undefined ? this.#grants[0] : this.#grants.shift()
  }

  /** The next chunk of cases gets another session. */
  loseWorker(): void {
    this.#grants = []
  }

  /** The next chunk of cases gets another workflow to add to: this one may have been cancelled. */
  loseGraph(): void {
    this.#graph = null
  }

  /** A fresh session with running tasks, and some of every state: requests use them up. */
  async restock(): Promise<void> {
    await this.#runGraph()
    if (this.#grants.length > GRANTS / 2) return
    this.#worker = await this.#api.worker({ queues: ['fuzz'], taskTypes: ['fuzz'], slots: 500 })
    await this.#api.submitBatch(Array.from({ length: GRANTS }, () => ({ task_type: 'fuzz', queue: 'fuzz' })))
    this.#grants = [...(await this.#worker.poll(GRANTS, { wait: 5 }))]
    await this.#makeEveryState()
  }

  /** A workflow of which a task runs, which can add to it; and one that was cancelled. */
  async #runGraph(): Promise<void> {
    if (this.#graph !== null && performance.now() - this.#graph.beganMs < GRAPH_MS) return
    // of its own, so that nothing of the graph before it comes
    const queue = `graphs-${this.#graphs++}`
    const [root, child] = ['root', 'child'].map((task_id) => ({ task_id, task_type: 'fuzz', queue }))
    const submit = async (tasks: readonly object[], more: object = {}): Promise<string> => {
      const { body } = await this.#api.call<WireWorkflow>('POST', '/workflows', {
        workflow_name: 'fuzz',
        tasks,
        ...more,
      })
      this.remember(body)
      return body.workflow_id
    }
    const worker = await this.#api.worker({ queues: [queue], taskTypes: ['fuzz'] })
    const beganMs = performance.now()
    const id = await submit([{ ...root }])
    const [grant] = await worker.poll(1, { wait: 5 })
    await submit([{ ...root }, { ...child, dependencies: ['root'] }])
    await worker.report(await worker.poll(1, { wait: 5 }))
    const [behind] = await worker.poll(1, { wait: 5 })
    this.#graph = grant && behind ? { id, grant, child: behind, workerId: worker.id, beganMs } : null
    await this.#api.call(
      'POST',
      `/workflows/${await submit([{ ...root }], { scheduled_at: '2999-01-01T00:00:00Z' })}/cancel`,
    )
  }

  async #makeEveryState(): Promise<void> {
    const one = { task_type: 'fuzz', queue: 'states', max_retries: 0 }
    const later = { ...one, delay_seconds: 3_600 }
    const again = { ...one, max_retries: 1, retry_delay_seconds: 3_600, retry_jitter: 'none' }
    const tasks = await this.#api.submitBatch([one, one, one, again, one, one, later, later])
    const worker = await this.#api.worker({ queues: ['states'], taskTypes: ['fuzz'] })
    const [succeeds, fails, dies, retries] = await worker.poll(4, { wait: 5 })
    const error = { class: 'E', message: 'm' }
    if (succeeds) await worker.report([succeeds])
    if (fails) await worker.report([fails], { outcome: 'failed', error: { ...error, retryable: false } })
    if (dies) await worker.report([dies], { outcome: 'failed', error })
    if (retries) await worker.report([retries], { outcome: 'failed', error })
    const [cancelled] = tasks.slice(-1)
    if (cancelled) await this.#api.call('POST', `/tasks/${cancelled.task_id}/cancel`)
    for (const task of tasks) this.remember(task)
    for (const { task_id } of this.#grants.slice(0, 4)) this.remember({ task_id })
  }

  /** What the store finds wrong with itself. */
  async findings(): Promise<string[]> {
    const client = await this.#pool.connect()
    try {
      const found = await checkInvariants(client, { atRest: false })
      // Sessions of a fuzzer say that they have more slots than they have.
      const honest = found.filter(({ rule }) => !rule.startsWith('a session holds no more tasks than it has slots'))
      return honest.map(({ rule, subject, detail }) => `${rule}: ${subject} ${detail}`)
    } finally {
      client.release()
    }
  }
}

/** So long a session lives that says nothing, less some. */
const GRAPH_MS = 8_000

interface WireWorkflow {
  readonly workflow_id: string
}

interface RunningGraph {
  readonly id: string
  readonly grant: WireGrant
  /** A task of another workflow that waited for its root, which has ended. */
  readonly child: WireGrant
  readonly workerId: string
  readonly beganMs: number
}

/** Puts a lease that lives, and what it belongs to, into a body. */
function fillGrant(node: ObjectNode, { task_id, lease }: WireGrant): void {
  for (const member of node.members) {
    const { schema } = member.value
    if (member.key === '"lease"') member.value = leaf(JSON.stringify(lease), schema)
    if (member.key === '"task_id"') member.value = leaf(JSON.stringify(task_id), schema)
    if (member.key === '"names"') member.value = { kind: 'list', schema, items: [leaf('"root"', {})] }
  }
}

interface WorldParts {
  readonly name: string
  readonly api: Api
  readonly document: OpenApiDocument
  readonly pool: pg.Pool
  readonly worker: RawWorker
  readonly complaints: readonly string[]
}

/** Starts a world for the calling test file; gone when the file is done. */
export async function openWorld(name: string): Promise<World> {
  const { url: databaseUrl } = await createDatabase()
  const complaints: string[] = []
  const destination = { write: (line: string) => void complaints.push(line) }
  const logger = createLogger({ level: 'error', destination })
  const node = await startNode(resolveConfig({ flags: { databaseUrl, port: 0, open: true } }), {
    logger,
    isOpenKnown: true,
  })
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  pool.on('error', () => {})
  cleanUpLater(() => node.stop())
  cleanUpLater(() => pool.end())
  const api = new Api(node.url)
  await until('the node is ready', async () => (await fetch(`${node.url}/readyz`)).ok)
  const document = (await (await fetch(`${node.url}/openapi.json`)).json()) as OpenApiDocument
  const worker = await api.worker({ queues: ['fuzz'], taskTypes: ['fuzz'] })
  const world = new World({ name, api, document, pool, worker, complaints })
  await world.restock()
  return world
}
