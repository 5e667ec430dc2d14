import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { triggerRules } from './trigger.js'
import { failurePolicies } from './verdict.js'
import { workflowStatuses, workflowTransitions } from './workflow-lifecycle.js'
import { renderWorkflows } from './workflows-page.js'

describe('docs/reference/workflows.md', () => {
  const page = readFileSync(new URL('../../../../docs/reference/workflows.md', import.meta.url), 'utf8')
  const rows = page.split('\n').map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')))

  it('equals what the tables render; `npm run generate` writes it anew', () => {
    expect(page).toBe(renderWorkflows())
  })

  it('has every status, step, rule and policy', () => {
    for (const { name } of workflowStatuses) expect(page).toContain(`| ${name} |`)
    for (const name of [...Object.keys(workflowTransitions), ...triggerRules, ...failurePolicies]) {
      expect(page).toContain(`| \`${name}\` |`)
    }
  })

  it.each([
    ['SUCCEEDED', 'SUCCEEDED', ['**runs**', '**runs**', '**runs**', '**runs**', 'skipped']],
    ['has not ended', 'SUCCEEDED', ['waits', 'waits', 'waits', '**runs**', 'waits']],
    ['has not ended', 'FAILED, DEAD or CANCELLED', ['FAILED', 'FAILED', 'waits', 'waits', '**runs**']],
    ['FAILED, DEAD or CANCELLED', 'skipped', ['skipped', 'FAILED', '**runs**', 'FAILED', '**runs**']],
    ['skipped', 'skipped', ['skipped', '**runs**', '**runs**', 'FAILED', 'skipped']],
  ])('says what becomes of a task behind one that %s and one that %s', (one, other, verdicts) => {
    expect(rows).toContainEqual([one, other, ...verdicts])
  })
})
