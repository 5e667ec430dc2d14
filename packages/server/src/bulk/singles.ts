import { DulyError, type Uuid } from '@duly/domain'
import type { Actor, BulkOrder, CancelResult } from '../model.js'
import type { BulkStep, HeldBulk } from '../store/bulk-store.js'
import type { Note } from '../store/commits.js'
import type { Connection } from '../store/database.js'
import { type Found, ofWorkflow, type WalkStores } from './walk.js'

/** What acts on tasks of workflows, and on what depends on them. */
export interface SingleTasks {
  cancel(id: Uuid, tenant: null, actor: Actor): Promise<CancelResult>
  /** Those that wait, in one transaction; answers which. */
  cancelTogether(ids: readonly Uuid[], how: { readonly actor: Actor; readonly note: Note }): Promise<readonly Uuid[]>
}

/** What runs tasks of one workflow again, in one transaction; answers which are open again. */
export interface Graphs {
  replayTogether(
    workflow: Uuid,
    ids: readonly Uuid[],
    how: { readonly actor: string; readonly endedByMs: number; readonly note: Note },
  ): Promise<readonly Uuid[]>
}

export interface SinglesOptions {
  readonly tasks: SingleTasks
  readonly graphs: Graphs
  readonly walks: WalkStores
  /** Tasks that one look reads. */
  readonly batch: number
}

/** A task of a workflow, on which others depend. */
export type NodeFound = Found & { readonly workflowId: Uuid }

type Counts = Omit<BulkStep, 'place'>

/** Counts in a transaction what it did: whenever the node dies, each task is counted once. */
export type Count = (client: Connection, counts: Counts) => Promise<void>

const nothing: Counts = { matched: 0, done: 0, skipped: 0, failed: 0, error: null }

/** Workflows of which a runner remembers that it looked for all that is meant of them. */
const rememberedMax = 10_000

/**
 * Acts on tasks of workflows, through the services of tasks and workflows. Of a stretch all are cancelled together that wait, and each by
 * itself that runs; all that is meant of a workflow runs again at once when it comes to the first of it, so that each waits for those before
 * it, in whatever order the operation comes to them (I7).
 */
export class Singles {
  readonly #options: SinglesOptions
  readonly #gathered = new Set<string>()

  constructor(options: SinglesOptions) {
    this.#options = options
  }

  /** Answers which it cancelled, and counted. Others run, have ended, or are to be tried by themselves. */
  async cancelWaiting(held: HeldBulk, tasks: readonly NodeFound[], count: Count): Promise<readonly Uuid[]> {
    const ids = tasks.map(({ id }) => id)
    try {
      return await this.#options.tasks.cancelTogether(ids, { actor: actorOf(held.actor), note: counting(ids, count) })
    } catch (error) {
      if (!(error instanceof DulyError) || isPassing(error)) throw error
      return []
    }
  }

  /**
   * Acts on one task, and answers how that is to be counted.
   *
   * @param counted tasks of the stretch under way that were acted on and counted before the walk came to them; grows by those of this call
   */
  async act(
    held: HeldBulk,
    task: NodeFound,
    { counted, count }: { readonly counted: Set<Uuid>; readonly count: Count },
  ): Promise<Counts> {
    try {
      if (held.action !== 'cancel') return await this.#replay(held, task, { counted, count })
      await this.#options.tasks.cancel(task.id, null, actorOf(held.actor))
      return { ...nothing, matched: 1, done: 1 }
    } catch (error) {
      if (!(error instanceof DulyError) || isPassing(error)) throw error
      if (error.code === 'wrong_state' || error.code === 'not_found') return { ...nothing, matched: 1, skipped: 1 }
      return { ...nothing, matched: 1, failed: 1, error: error.message }
    }
  }

  /** What ended anew since the operation began is none of its matter: a node that died may have run it again already. */
  async #replay(
    held: HeldBulk,
    { id, workflowId }: NodeFound,
    { counted, count }: { readonly counted: Set<Uuid>; readonly count: Count },
  ): Promise<Counts> {
    const ids = await this.#meant(held, id, workflowId)
    const how = { actor: held.actor, endedByMs: held.createdAtMs, note: counting(ids, count) }
    const opened = new Set(await this.#options.graphs.replayTogether(workflowId, ids, how))
    for (const each of ids) if (opened.has(each)) counted.add(each)
    return opened.has(id) ? nothing : { ...nothing, matched: 1, skipped: 1 }
  }

  /** At the first task of a workflow all that the operation means of it; what was left then is tried by itself. */
  async #meant(held: HeldBulk, id: Uuid, workflow: Uuid): Promise<readonly Uuid[]> {
    const key = `${held.id} ${workflow}`
    if (this.#gathered.has(key)) return [id]
    const { walks, batch } = this.#options
    const { action, source, filters, cutoff } = held
    const ids = await ofWorkflow(walks, { action, source, filters } as BulkOrder, { workflow, cutoff, limit: batch })
    if (this.#gathered.size >= rememberedMax) this.#gathered.clear()
    this.#gathered.add(key)
    return ids.includes(id) ? ids : [...ids, id]
  }
}

/** The store went away; what was sent to it may have been done, and is looked at again. */
export const isPassing = ({ code }: DulyError): boolean => code === 'store_unavailable' || code === 'commit_unknown'

/** What was done of what was meant is counted; what that brought about besides is not. */
function counting(meant: readonly Uuid[], count: Count): Note {
  return async (client, changed) => {
    const all = new Set(changed)
    const done = meant.filter((id) => all.has(id)).length
    if (done > 0) await count(client, { ...nothing, matched: done, done })
  }
}

/** An actor as it stands in the trail, read back. */
function actorOf(text: string): Actor {
  const at = text.indexOf(':')
  const kind = (at < 0 ? text : text.slice(0, at)) as Actor['kind']
  return at < 0 ? { kind } : { kind, name: text.slice(at + 1) }
}
