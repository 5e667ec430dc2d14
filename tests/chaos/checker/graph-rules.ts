import type { TriggerRule } from '@duly/domain'

// The truth table of trigger rules once more, written from the behaviour and not from the domain's code: what the checker reckons must not
// share a mistake with what it checks.

/** How a dependency stands for those that wait for it. `failed` is every end that is neither a success nor a skip. */
export type Standing = 'succeeded' | 'skipped' | 'failed' | 'open'

/** What becomes of a node. */
export type Verdict = 'run' | 'skip' | 'fail'

/**
 * Whether a node runs by how its dependencies stand, or may still run when the open ones have ended well for it.
 * @param parents in any order; none: it waits for nothing
 */
export function mayRun(rule: TriggerRule, parents: readonly Standing[]): boolean {
  const has = (...some: readonly Standing[]) => parents.some((each) => some.includes(each))
  if (parents.length === 0) return true
  switch (rule) {
    case 'all_succeeded':
      return !has('skipped', 'failed')
    case 'none_failed':
      return !has('failed')
    case 'all_done':
      return true
    case 'one_succeeded':
      return has('succeeded', 'open')
    case 'one_failed':
      return has('failed', 'open')
  }
}

/** Whether it is certain by how its dependencies stand that a node is skipped; a skip wins over a failure when both stand. */
export function isNotNeeded(rule: TriggerRule, parents: readonly Standing[]): boolean {
  if (rule === 'one_failed') return !mayRun(rule, parents)
  return rule === 'all_succeeded' && parents.includes('skipped')
}

/**
 * What can have become of a node by now, by how its dependencies stand; nothing: it waits on. Of several, the one whose end came first
 * decides.
 */
export function verdictsOf(rule: TriggerRule, parents: readonly Standing[]): readonly Verdict[] {
  if (parents.length === 0) return ['run']
  const has = (standing: Standing) => parents.includes(standing)
  const isOver = !has('open')
  switch (rule) {
    case 'all_succeeded': {
      const ends: readonly Verdict[] = [
        ...(has('skipped') ? ['skip' as const] : []),
        ...(has('failed') ? ['fail' as const] : []),
      ]
      return ends.length === 0 && isOver ? ['run'] : ends
    }
    case 'none_failed':
      if (has('failed')) return ['fail']
      return isOver ? ['run'] : []
    case 'all_done':
      return isOver ? ['run'] : []
    case 'one_succeeded':
      if (has('succeeded')) return ['run']
      return isOver ? ['fail'] : []
    case 'one_failed':
      if (has('failed')) return ['run']
      return isOver ? ['skip'] : []
  }
}

/** The rules of which a node that runs by them makes the failure of a dependency no failure of the workflow. */
export const takingRules: ReadonlySet<TriggerRule> = new Set<TriggerRule>(['all_done', 'one_succeeded', 'one_failed'])
