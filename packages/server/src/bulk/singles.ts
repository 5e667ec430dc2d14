import { DulyError, type Uuid } from '@duly/domain'
import type { Actor, CancelResult, TaskRecord } from '../model.js'
import type { BulkStep, HeldBulk } from '../store/bulk-store.js'

/** What acts on one task, and on what depends on it. */
export interface SingleTasks {
  get(id: Uuid, tenant: null): Promise<TaskRecord>
  cancel(id: Uuid, tenant: null, actor: Actor): Promise<CancelResult>
  replay(id: Uuid, tenant: null, actor: Actor): Promise<TaskRecord>
}

type Counts = Pick<BulkStep, 'done' | 'skipped' | 'failed' | 'error'>

const counted = (what: 'done' | 'skipped'): Counts => ({ done: 0, skipped: 0, failed: 0, error: null, [what]: 1 })

/** Acts on tasks one by one, through the service of tasks. */
export class Singles {
  readonly #tasks: SingleTasks

  constructor(tasks: SingleTasks) {
    this.#tasks = tasks
  }

  async act(held: HeldBulk, id: Uuid): Promise<Counts> {
    try {
      return counted((await this.#change(held, id)) ? 'done' : 'skipped')
    } catch (error) {
      if (!(error instanceof DulyError) || isPassing(error)) throw error
      if (error.code === 'wrong_state' || error.code === 'not_found') return counted('skipped')
      return { done: 0, skipped: 0, failed: 1, error: error.message }
    }
  }

  /** Whether it changed anything. */
  async #change({ action, actor, createdAtMs }: HeldBulk, id: Uuid): Promise<boolean> {
    const by = actorOf(actor)
    if (action === 'cancel') {
      await this.#tasks.cancel(id, null, by)
      return true
    }
    const { completedAtMs } = await this.#tasks.get(id, null)
    // it ended anew since the operation began, perhaps because a node that died had run it again already
    if (completedAtMs === null || completedAtMs > createdAtMs) return false
    await this.#tasks.replay(id, null, by)
    return true
  }
}

/** The store went away; what was sent to it may have been done, and is looked at again. */
export const isPassing = ({ code }: DulyError): boolean => code === 'store_unavailable' || code === 'commit_unknown'

/** An actor as it stands in the trail, read back. */
function actorOf(text: string): Actor {
  const at = text.indexOf(':')
  const kind = (at < 0 ? text : text.slice(0, at)) as Actor['kind']
  return at < 0 ? { kind } : { kind, name: text.slice(at + 1) }
}
