import { readFileSync } from 'node:fs'
import { bulkActions, bulkStatuses } from '@duly/domain'
import { expect, it } from 'vitest'
import { renderBulkReference } from './bulk-reference.js'
import { letterFilters } from './dead-letters.js'
import { taskFilters } from './task-lists.js'

it('docs/reference/bulk.md is what the tables and filters say', () => {
  const page = readFileSync(new URL('../../../docs/reference/bulk.md', import.meta.url), 'utf8')
  expect(page, 'run `npm run generate`').toBe(renderBulkReference())
})

it('has every action, status and filter, each with its meaning', () => {
  const rows = renderBulkReference()
    .split('\n')
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')))
  expect(rows).toContainEqual(['`discard`', 'DEAD', expect.stringContaining('out of the dead letters')])
  const names = [...bulkActions, ...bulkStatuses].map(({ name }) => name as string)
  for (const name of [...names, ...Object.keys(taskFilters), ...Object.keys(letterFilters)]) {
    const row = rows.find(([first]) => first === name || first === `\`${name}\``)
    expect(row?.at(-1), name).toMatch(/^[`\w].*\.$/)
  }
})
