import type { Finding } from './finding.js'
import { isNotNeeded, mayRun } from './graph-rules.js'
import { lifeIn, type NodeLives, type PlayedWorkflow, standingOf } from './workflow-lives.js'

/**
 * Point 6: each retry opened what had failed or was cancelled and what that had kept from running, as far as it can run by how the rest
 * ended; and nothing else.
 */
export function checkRetries(played: PlayedWorkflow): Finding[] {
  const findings: Finding[] = []
  for (let run = 2; run <= played.runs; run += 1) {
    for (const node of played.nodes.values()) {
      const before = lifeIn(node, run - 1)
      if (!before) continue // added in this run
      const isOpened = opens(node, run)
      const isDue = mustOpen(played, node, run)
      if (isOpened === isDue) continue
      const rule = isOpened ? 'a retry opened what it had to leave' : 'a retry left what it had to open'
      const detail = `${node.name} in run ${run}, ${before.status} ${before.reason ?? ''} before`
      findings.push({ point: 6, rule, subject: `${played.workflow.id} (${played.workflow.mark})`, detail })
    }
  }
  return findings
}

const opens = ({ lives }: NodeLives, run: number): boolean => lives.some((life) => life.run === run)

function mustOpen(played: PlayedWorkflow, node: NodeLives, run: number): boolean {
  const parents = node.parents.flatMap((name) => played.nodes.get(name) ?? [])
  const standing = parents.map((parent) => (opens(parent, run) ? 'open' : standingOf(lifeIn(parent, run - 1))))
  const before = standingOf(lifeIn(node, run - 1))
  const isWanted = before === 'failed' || (before === 'skipped' && standing.includes('open'))
  // what failed, or was cancelled by hand, and is not needed any more is skipped
  const mayBeSkipped = before === 'failed' && isNotNeeded(node.rule, standing)
  return isWanted && (mayRun(node.rule, standing) || mayBeSkipped)
}
