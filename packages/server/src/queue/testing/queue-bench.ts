import type { Lane, Uuid } from '@duly/domain'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { ReadyQueue, Take, TakenTask } from '../port.js'
import { addSession, addTasks, type ReadyTask, type SessionState, type Sql, type TaskSpec } from './store-bench.js'

/** An adapter with the PostgreSQL that holds the truth it must obey. */
export interface QueueUnderTest {
  readonly queue: ReadyQueue
  /** Another adapter object on the same store, as another node has. */
  readonly another: ReadyQueue
  readonly sql: Sql
  close(): Promise<void>
}

export interface TakeOptions {
  readonly sessions: readonly Uuid[]
  readonly lane?: Partial<Lane>
  readonly fromMs?: number
  readonly taskTypes?: readonly string[] | null
  readonly queue?: ReadyQueue
}

/** A ready queue under test, empty before each test, and what tests do with it. */
export class QueueBench {
  #under: QueueUnderTest | undefined
  #token = 1n

  /** Opened before the tests of the calling block, and closed behind them. */
  constructor(make: () => Promise<QueueUnderTest>) {
    beforeAll(async () => {
      this.#under = await make()
    })
    afterAll(() => this.#under?.close())
    beforeEach(() =>
      this.sql(
        'truncate open_tasks, tasks, outcomes, failed_attempts, counters, worker_sessions, session_grants, queues',
      ),
    )
  }

  get #parts(): QueueUnderTest {
    if (!this.#under) throw new Error('the queue is opened before the tests')
    return this.#under
  }

  get queue(): ReadyQueue {
    return this.#parts.queue
  }

  get another(): ReadyQueue {
    return this.#parts.another
  }

  get sql(): Sql {
    return this.#parts.sql
  }

  async add(spec: TaskSpec = {}): Promise<ReadyTask[]> {
    const tasks = await addTasks(this.sql, spec)
    await this.queue.push(tasks.map((task) => ({ ...task, laneVersion: 0 })))
    return tasks
  }

  session(state?: SessionState): Promise<Uuid> {
    return addSession(this.sql, state ? { state } : {})
  }

  takeFor({ sessions, lane, fromMs = 0, taskTypes = null, queue = this.queue }: TakeOptions): Promise<Take> {
    this.#token += 1_000_000n
    return queue.take({
      takes: [{ lane: { queue: 'default', priority: 2, tenant: 'default', gate: '', ...lane }, sessions, fromMs }],
      taskTypes,
      token: this.#token,
    })
  }

  async take(options: TakeOptions): Promise<readonly TakenTask[]> {
    return (await this.takeFor(options)).tasks
  }

  /** How many open tasks are in each state. */
  async standing(): Promise<Record<string, number>> {
    const rows = await this.sql<{ status: string; n: number }>(
      'select status, count(*)::integer as n from open_tasks group by 1',
    )
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
  }
}

/** A take promises which tasks, not in which order it names them. */
export function inOrder(tasks: readonly TakenTask[]): TakenTask[] {
  return [...tasks].sort((a, b) => a.readyAtMs - b.readyAtMs || (a.id < b.id ? -1 : 1))
}
