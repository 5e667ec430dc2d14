import { type ApiRoute, components, exampleOf, routeList } from '@duly/contract'
import { describe, expect, it } from 'vitest'
import { compileValidator } from './validate.js'

const routes: readonly ApiRoute[] = routeList

describe('the examples that the references show', () => {
  it.each(Object.entries(components))('fit their schema: %s', (_name, schema) => {
    const check = compileValidator(schema)
    expect(check(exampleOf(schema, 'all'))).toEqual([])
    expect(check(exampleOf(schema, 'required'))).toEqual([])
  })

  it('fit their schema also where it has no name', () => {
    const schemas = routes.flatMap(({ body, params, responses }) => [
      ...[body, params, ...Object.values(responses).map(({ schema }) => schema)],
    ])
    expect(schemas.length).toBeGreaterThan(20)
    for (const schema of schemas) {
      if (schema) expect(compileValidator(schema)(exampleOf(schema, 'all'))).toEqual([])
    }
  })
})
