import { errorCodes } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { components } from './components.js'
import { openApiDocument } from './openapi.js'
import { apiRoutes, problemsOf, routeList } from './routes.js'
import { apiTags } from './tags.js'

const document = openApiDocument() as {
  paths: Record<
    string,
    Record<
      string,
      { operationId: string; responses: Record<string, unknown>; parameters?: { name: string; in: string }[] }
    >
  >
  components: { schemas: Record<string, object> }
}

function everyObject(value: unknown, visit: (object: Record<string, unknown>) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) visit(value as Record<string, unknown>)
  for (const item of Object.values(value)) everyObject(item, visit)
}

describe('the OpenAPI document', () => {
  it('has every route once, with its parameters', () => {
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method} ${path}`),
    )
    expect(operations.sort()).toEqual(
      routeList.map(({ operationId, method, path }) => `${operationId} ${method.toLowerCase()} ${path}`).sort(),
    )
    for (const [path, methods] of Object.entries(document.paths)) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1])
      for (const { parameters = [] } of Object.values(methods)) {
        expect(parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)).toEqual(inPath)
      }
    }
  })

  it('answers problems with every status that a code has', () => {
    expect(Object.keys(document.paths['/api/v1/tasks']?.post?.responses ?? {})).toEqual([
      ...['200', '202', '400', '401', '403', '409', '413', '415', '429', '500', '503'],
    ])
    for (const route of routeList) for (const code of problemsOf(route)) expect(errorCodes).toContain(code)
  })

  it('says of each operation whether it takes a key, and of which scope', () => {
    for (const { path, method, scope } of routeList) {
      const security = scope === null ? [] : [{ apiKey: [scope] }]
      expect(document.paths[path]?.[method.toLowerCase()], path).toMatchObject({ security })
    }
    expect(document.components).toMatchObject({ securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } })
  })

  it('describes each group of operations, as the specification spells it', () => {
    const tags = (document as unknown as { tags: Record<string, unknown>[] }).tags
    expect(tags.map(({ name }) => name)).toEqual(Object.keys(apiTags))
    for (const tag of tags) expect(tag).toEqual({ name: tag.name, description: expect.stringMatching(/\w\.$/) })
  })

  it('refers only to schemas that are there, and is plain JSON', () => {
    everyObject(document, (object) => {
      if (typeof object.$ref === 'string') {
        expect(Object.keys(document.components.schemas)).toContain(object.$ref.replace('#/components/schemas/', ''))
      }
    })
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
  })

  it('closes every object that has listed fields', () => {
    everyObject(components, (object) => {
      if (object.type === 'object' && object.required) expect(object.additionalProperties).toBe(false)
    })
  })
})

it('names ids and paths in one way', () => {
  for (const [operationId, { path }] of Object.entries(apiRoutes)) {
    expect(operationId).toMatch(/^[a-z]+([A-Z][a-z]+)*$/)
    expect(path).toMatch(/^\/[a-z0-9{}_/.-]*$/)
  }
})
