import { type FinalWorkflowStatus, type Uuid, workflowVerdict } from '@duly/domain'
import type { LockedWorkflow, VerdictFacts } from '../store/workflow-rows.js'

/** How these workflows end. Most have no failure: nothing is asked for them. */
export async function verdictsOf(
  closing: readonly LockedWorkflow[],
  ask: (ids: readonly Uuid[]) => Promise<readonly VerdictFacts[]>,
): Promise<ReadonlyMap<Uuid, FinalWorkflowStatus>> {
  const doubtful = closing.filter(({ failed, cancelRequested }) => failed > 0 && !cancelRequested).map(({ id }) => id)
  const facts = doubtful.length === 0 ? [] : await ask(doubtful)
  const factsOf = new Map(facts.map((fact) => [fact.id, fact]))
  return new Map(
    closing.map(({ id, failurePolicy, failed, cancelRequested }) => {
      const untaken = factsOf.get(id)?.untaken ?? 0
      return [id, workflowVerdict({ failurePolicy, failed, untaken, cancelRequested })]
    }),
  )
}
