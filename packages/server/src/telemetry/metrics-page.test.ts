import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { renderMetrics } from './metrics-page.js'

it('docs/reference/metrics.md is what the table of metrics says', () => {
  const page = readFileSync(new URL('../../../../docs/reference/metrics.md', import.meta.url), 'utf8')
  expect(page, 'run `npm run generate`').toBe(renderMetrics())
})
