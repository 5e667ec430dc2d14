import { criticalPath, type TimedNode } from '@duly/domain'
import type { WorkflowNodeRecord, WorkflowReading, WorkflowRecord } from '../model.js'
import type { FoundWorkflow, NodeRow } from '../store/workflow-record-store.js'

const idChars = 36

/** A workflow as it is read from the store: what each node depends on by name, and of all that was read so much as the critical path needs. */
export class GraphReading implements WorkflowReading {
  readonly workflow: FoundWorkflow['workflow']
  readonly #found: FoundWorkflow
  readonly #nowMs: number
  readonly #places: ReadonlyMap<string, number>
  readonly #times: TimedNode[] = []
  readonly #parents: number[][] = []

  /** @param nowMs by the store's clock */
  constructor(found: FoundWorkflow, nowMs: number) {
    this.workflow = found.workflow
    this.#found = found
    this.#nowMs = nowMs
    this.#places = new Map(idsIn(found.ids).map((id, place) => [id, place]))
  }

  get parts(): AsyncIterable<readonly WorkflowNodeRecord[]> {
    return this.#parts()
  }

  criticalPath(): WorkflowRecord['criticalPath'] {
    const { createdAtMs, scheduledAtMs } = this.workflow
    const beganAtMs = Math.max(createdAtMs, scheduledAtMs ?? 0)
    const { nodes, durationMs } = criticalPath(this.#times, this.#parents, { beganAtMs, nowMs: this.#nowMs })
    return { nodes: nodes.map(this.#nameOf), durationMs }
  }

  async *#parts(): AsyncGenerator<readonly WorkflowNodeRecord[], void> {
    for await (const rows of this.#found.parts) yield rows.map((row) => this.#take(row))
  }

  #take({ parents: parentIds, addedBy, triggeredAtMs, ...node }: NodeRow): WorkflowNodeRecord {
    const parents = idsIn(parentIds ?? '').flatMap((id) => this.#places.get(id) ?? [])
    parents.sort((a, b) => a - b)
    const { startedAtMs, completedAtMs } = node
    const adder = addedBy === null ? null : (this.#places.get(addedBy) ?? null)
    this.#times.push({ startedAtMs, triggeredAtMs, completedAtMs, adder })
    this.#parents.push(parents)
    return {
      ...node,
      dependencies: parents.map(this.#nameOf),
      addedBy: addedBy === null ? null : this.#nameOf(adder ?? -1),
    }
  }

  readonly #nameOf = (place: number): string => this.#found.names[place] ?? ''
}

/** Ids that stand one behind the other. */
function idsIn(text: string): string[] {
  const ids: string[] = []
  for (let at = 0; at < text.length; at += idChars) ids.push(text.slice(at, at + idChars))
  return ids
}
