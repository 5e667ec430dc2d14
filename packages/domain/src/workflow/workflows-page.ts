import { markdownTable } from '../markdown.js'
import {
  judgeNode,
  type NodeEnd,
  type NodeVerdict,
  parentCounts,
  takesIn,
  triggerRuleDocs,
  triggerRules,
} from './trigger.js'
import { failurePolicies, failurePolicyDocs } from './verdict.js'
import { workflowStatuses, workflowTransitions } from './workflow-lifecycle.js'

/** The text of docs/reference/workflows.md. A test keeps file and tables equal. */
export function renderWorkflows(): string {
  return [
    '# Workflow states and rules',
    '',
    'Generated from `packages/domain/src/workflow/` by `npm run generate`; do not edit. How workflows are used stands in the',
    '[guide](../guide/workflows.md), how large they may be in [limits](limits.md).',
    '',
    ...markdownTable(
      ['Status', 'Open', 'Meaning'],
      workflowStatuses.map(({ name, open, doc }) => [name, open ? 'yes' : 'no', doc]),
    ),
    '',
    ...markdownTable(['Step', 'From', 'To', 'Meaning'], stepRows()),
    '',
    '## Trigger rules',
    '',
    'A rule is judged as soon as it is certain what it says, once. A task without dependencies starts at once. A task that is skipped is',
    'CANCELLED with the reason `skipped`; one that was cancelled for any other reason, or expired, counts as failed. *Takes in*: a',
    'failure before a task that ran by this rule does not fail the workflow.',
    '',
    ...markdownTable(
      ['Rule', 'Runs when of those that it depends on', 'Else', 'Takes in'],
      triggerRules.map((rule) => {
        const { runs, otherwise } = triggerRuleDocs[rule]
        return [`\`${rule}\``, runs, otherwise, takesIn(rule) ? 'yes' : 'no']
      }),
    ),
    '',
    '## How a task with two dependencies is judged',
    '',
    ...markdownTable(['One', 'The other', ...triggerRules.map((rule) => `\`${rule}\``)], verdictRows()),
    '',
    '## Failure policies',
    '',
    ...markdownTable(
      ['Policy', 'What a failure does'],
      failurePolicies.map((policy) => [`\`${policy}\``, failurePolicyDocs[policy]]),
    ),
    '',
    'Under `fail_dependents` (default) the workflow is FAILED when a task ended FAILED or DEAD and none that depends on it took that in;',
    'under `fail_fast` when any did.',
    '',
  ].join('\n')
}

function stepRows(): string[][] {
  return Object.entries(workflowTransitions).map(([name, { from, to, doc }]) => [
    `\`${name}\``,
    from.join(', ') || '–',
    to,
    doc,
  ])
}

/** What a parent can be found as: a cancelled one counts as failed. */
const standings = [
  ['has not ended', null],
  ['SUCCEEDED', 'succeeded'],
  ['FAILED, DEAD or CANCELLED', 'failed'],
  ['skipped', 'skipped'],
] as const satisfies readonly (readonly [string, NodeEnd | null])[]

const verdictWords: Readonly<Record<NodeVerdict, string>> = {
  run: '**runs**',
  wait: 'waits',
  skip: 'skipped',
  fail: 'FAILED',
}

function verdictRows(): string[][] {
  return standings.flatMap(([one, end], place) =>
    standings
      .slice(place)
      .map(([other, otherEnd]) => [
        one,
        other,
        ...triggerRules.map((rule) => verdictWords[judgeNode(rule, parentCounts([end, otherEnd]))]),
      ]),
  )
}
