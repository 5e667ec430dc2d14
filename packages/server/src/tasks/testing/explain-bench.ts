import { type Cause, type CauseCode, causeCodes, type Explanation, type Uuid } from '@duly/domain'
import { afterAll, beforeAll, expect } from 'vitest'
import { newTask, openTestStore, type TestNode } from '../../testing/test-node.js'
import { Explainer } from '../explainer.js'

const codes = causeCodes.map(({ code }) => code)
const lastOfReady = codes.indexOf('expires')
/** Why a task that is ready does not run; and how all others stand. */
export const readyCodes = codes.slice(0, lastOfReady + 1)
export const otherCodes = codes.slice(lastOfReady + 1)

/** Explanations of tasks on a store of the calling test file, whose tests together see each of the codes. */
export async function openExplainBench(wanted: readonly CauseCode[]): Promise<ExplainBench> {
  const { node } = await openTestStore()
  const bench = new ExplainBench(node)
  beforeAll(async () => {
    await node.query('update store_marks set marked_at = now(), judge_after = now()')
    await bench.scheduler(true)
    // one that is not seen for 6 s is dead, and tests may take longer
    await node.query(`update nodes set seen_at = now() + interval '1 hour'`)
  })
  afterAll(() => expect(wanted.filter((code) => !bench.seen.has(code))).toEqual([]))
  return bench
}

export class ExplainBench {
  readonly node: TestNode
  readonly explainer: Explainer
  readonly seen = new Set<CauseCode>()
  #queues = 0

  constructor(node: TestNode) {
    this.node = node
    this.explainer = new Explainer({ store: node.stores.explain, maxCrashes: 3 })
  }

  /** A scheduler that is alive, as nodes with duties keep it. */
  async scheduler(isAlive: boolean): Promise<void> {
    await this.node.query(
      `insert into nodes (id, number, roles, version, started_at, seen_at)
       values ('00000000-0000-4000-8000-000000000001', 1, '{api,scheduler}', 'test', now(), now())
       on conflict (id) do update set seen_at = now() - $1::integer * interval '1 second'`,
      [isAlive ? 0 : 30],
    )
  }

  newQueue(): string {
    return `explained-${this.#queues++}`
  }

  async explain(id: Uuid, tenant: string | null = null): Promise<Explanation> {
    await this.node.query(`update store_marks set marked_at = now() + interval '1 hour'`)
    const explanation = await this.explainer.explain(id, tenant)
    for (const { code } of explanation.causes) this.seen.add(code)
    return explanation
  }

  async submit(over: Parameters<typeof newTask>[0] = {}): Promise<{ id: Uuid; queue: string }> {
    const queue = over.queue ?? this.newQueue()
    return { id: (await this.node.intake.submit(newTask({ ...over, queue }))).id, queue }
  }
}

export const codesOf = ({ causes }: Explanation): CauseCode[] => causes.map(({ code }) => code)

export const causeOf = ({ causes }: Explanation, code: CauseCode): Cause | undefined =>
  causes.find((each) => each.code === code)
