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

/** Whether a node may have started by now: what its rule waits for has ended. */
export function mayHaveStarted(rule: TriggerRule, parents: readonly Standing[]): boolean {
  if (parents.length === 0) return true
  if (rule === 'one_succeeded') return parents.includes('succeeded')
  if (rule === 'one_failed') return parents.includes('failed')
  return !parents.includes('open') && mayRun(rule, parents)
}

/** Whether it is certain by how its dependencies stand that a node is skipped; a skip wins over a failure when both stand. */
export function isNotNeeded(rule: TriggerRule, parents: readonly Standing[]): boolean {
  if (rule === 'one_failed') return !mayRun(rule, parents)
  return rule === 'all_succeeded' && parents.includes('skipped')
}

/** What can have become of a node when all its dependencies have ended; of several, the one whose end came first decides. */
export function verdictsOf(rule: TriggerRule, parents: readonly Standing[]): readonly Verdict[] {
  if (mayRun(rule, parents)) return ['run']
  if (rule === 'one_failed') return ['skip']
  if (rule !== 'all_succeeded') return ['fail']
  const skips: readonly Verdict[] = parents.includes('skipped') ? ['skip'] : []
  return parents.includes('failed') ? [...skips, 'fail'] : skips
}

/** The rules of which a node that runs by them makes the failure of a dependency no failure of the workflow. */
export const takingRules: ReadonlySet<TriggerRule> = new Set<TriggerRule>(['all_done', 'one_succeeded', 'one_failed'])
