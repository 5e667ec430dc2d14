import { type FinalWorkflowStatus, type Uuid, workflowVerdict } from '@duly/domain'
import type { LockedWorkflow, VerdictFacts } from '../store/workflow-rows.js'

/** A workflow of which no node is open any more. `hasSucceeded`: a node did, among those that ended last. */
export interface ClosingWorkflow
  extends Pick<LockedWorkflow, 'id' | 'failurePolicy' | 'failed' | 'cancelRequested' | 'run'> {
  readonly hasSucceeded: boolean
}

/** How these workflows end. Most end their first run with a success, without a failure: nothing is asked for them. */
export async function verdictsOf(
  closing: readonly ClosingWorkflow[],
  ask: (ids: readonly Uuid[]) => Promise<readonly VerdictFacts[]>,
): Promise<ReadonlyMap<Uuid, FinalWorkflowStatus>> {
  const doubtful = closing.filter(isDoubtful).map(({ id }) => id)
  const facts = doubtful.length === 0 ? [] : await ask(doubtful)
  const factsOf = new Map(facts.map((fact) => [fact.id, fact]))
  return new Map(
    closing.map(({ id, hasSucceeded, ...workflow }) => {
      const known = factsOf.get(id) ?? { untaken: 0, hasSucceeded, leftBy: null }
      return [id, workflowVerdict({ ...workflow, ...known })]
    }),
  )
}

/** What its own row and its last ends do not tell. */
function isDoubtful({ cancelRequested, failed, hasSucceeded, run }: ClosingWorkflow): boolean {
  return !cancelRequested && (failed > 0 || !hasSucceeded || run > 1)
}
