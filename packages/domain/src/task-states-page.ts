import { type Transition, transitionNames, transitions } from './lifecycle.js'
import { markdownTable } from './markdown.js'
import { isOpen, taskStatuses } from './statuses.js'

/** The text of docs/reference/task-states.md. A test keeps file and table equal. */
export function renderTaskStates(): string {
  return [
    '# Task states',
    '',
    'Generated from `packages/domain/src/lifecycle.ts` by `npm run generate`; do not edit.',
    '',
    ...markdownTable(
      ['Status', 'Open', 'Meaning'],
      taskStatuses.map(({ name, open, doc }) => [name, open ? 'yes' : 'no', doc]),
    ),
    '',
    ...diagram(),
    '',
    '## Transitions',
    '',
    'Every transition is one compare-and-set; its row count says whether it happened. *Fenced*: the lease is compared too. *Marked*: what',
    'happens to a RUNNING task whose cancellation was requested. *Trail*: `event` writes a row with actor and reason, `derived` is read from',
    "the task's timestamps.",
    '',
    ...markdownTable(['Transition', 'From', 'To', 'By', 'Fenced', 'Marked', 'Trail', 'Meaning'], transitionRows()),
    '',
  ].join('\n')
}

function transitionRows(): string[][] {
  return transitionNames.map((name) => {
    const { from, to, by, fenced, leavesTrail, doc, ...rest }: Transition = transitions[name]
    const target = targetCell(to, rest)
    const trail = leavesTrail ? 'event' : 'derived'
    return [
      `\`${name}\``,
      from.join(', ') || '–',
      target,
      by.join(', '),
      fenced ? 'yes' : 'no',
      markedCell(rest),
      trail,
      doc,
    ]
  })
}

function targetCell(to: Transition['to'], { keepsStatus, reason }: Pick<Transition, 'keepsStatus' | 'reason'>): string {
  if (keepsStatus) return 'the same'
  return reason === null ? to.join(', ') : `${to.join(', ')} (${reason})`
}

function markedCell({
  endsCancelledWhenMarked,
  onlyWhenMarked,
}: Pick<Transition, 'endsCancelledWhenMarked' | 'onlyWhenMarked'>): string {
  if (endsCancelledWhenMarked) return 'ends CANCELLED'
  return onlyWhenMarked ? 'only then' : ''
}

/** One arrow per pair of states, labelled with all transitions that take it; steps within one state are left to the table. */
function diagram(): string[] {
  const labels = new Map<string, string[]>()
  for (const name of transitionNames) {
    const { from, to, keepsStatus }: Transition = transitions[name]
    if (keepsStatus) continue
    for (const start of from.length === 0 ? ['[*]'] : from) {
      for (const end of to) {
        if (start === end) continue
        const arrow = `${start} --> ${end}`
        labels.set(arrow, [...(labels.get(arrow) ?? []), name])
      }
    }
  }
  const finals = taskStatuses.filter(({ name }) => !isOpen(name)).map(({ name }) => `  ${name} --> [*]`)
  const arrows = [...labels].map(([arrow, names]) => `  ${arrow}: ${names.join(', ')}`)
  return ['```mermaid', 'stateDiagram-v2', ...arrows, ...finals, '```']
}
