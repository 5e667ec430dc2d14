import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { components } from './components.js'
import { renderHttpReference } from './reference.js'
import { routeList } from './routes.js'

it('docs/reference/http.md is what the route table says', () => {
  const page = readFileSync(new URL('../../../docs/reference/http.md', import.meta.url), 'utf8')
  expect(page, 'run `npm run generate`').toBe(renderHttpReference())
})

it('has a section for every route and every named body, and no dead link inside', () => {
  const page = renderHttpReference()
  for (const { method, path } of routeList) expect(page).toContain(`### ${method} ${path}\n`)
  for (const [, target] of page.matchAll(/\]\(#([a-z]+)\)/g)) {
    expect(Object.keys(components).map((name) => name.toLowerCase())).toContain(target)
  }
})
