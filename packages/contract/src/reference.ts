import { errorCatalogue } from '@duly/domain'
import type { TSchema } from 'typebox'
import { componentName, components } from './components.js'
import { markdownTable } from './markdown.js'
import { type ApiRoute, problemsOf, routeList } from './routes.js'

interface Described {
  readonly [key: string]: unknown
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Described[]
  readonly items?: Described
  readonly format?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
}

const link = (name: string): string => `[${name}](#${name.toLowerCase()})`

function typeText(schema: Described): string {
  const name = componentName(schema)
  if (name !== undefined) return link(name)
  if (schema.enum) return schema.enum.map((value) => `\`${String(value)}\``).join(', ')
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' or ')
  if (schema.items) return `list of ${typeText(schema.items)}`
  if (schema.type === undefined) return 'any'
  const types = typeof schema.type === 'string' ? [schema.type] : schema.type
  return types.map((type) => (type === 'string' && schema.format === 'date-time' ? 'instant' : type)).join(' or ')
}

const bounds = [
  ['minimum', '≥ '],
  ['maximum', '≤ '],
  ['minLength', 'length ≥ '],
  ['maxLength', 'length ≤ '],
  ['minItems', 'items ≥ '],
  ['maxItems', 'items ≤ '],
] as const

function limitText(schema: Described): string {
  const own = schema.items && componentName(schema.items) === undefined ? { ...schema.items, ...schema } : schema
  return bounds.flatMap(([key, text]) => (own[key] === undefined ? [] : [`${text}${String(own[key])}`])).join(', ')
}

function fieldTable(schema: TSchema): string[] {
  const { properties = {}, required = [] } = schema as Described
  const rows = Object.entries(properties).map(([name, field]) => [
    `\`${name}\``,
    typeText(field),
    required.includes(name) ? 'yes' : '',
    limitText(field),
    componentName(field) || field.enum ? '' : (field.description ?? '').replaceAll('\n', ' '),
  ])
  return markdownTable(['Field', 'Type', 'Always', 'Limits', 'Meaning'], rows)
}

function parameterLines(route: ApiRoute): string[] {
  const places = [
    ['Path', route.params],
    ['Query', route.query],
    ['Headers', route.headers],
  ] as const
  return places.flatMap(([place, schema]) => (schema ? [`${place}:`, '', ...fieldTable(schema), ''] : []))
}

function bodyLine(route: ApiRoute): string[] {
  if (!route.body) return []
  const limit = route.bodyLimit === 'batch' ? '64 MiB' : '2 MiB'
  return [`Body: ${typeText(route.body as Described)}, at most ${limit}.`, '']
}

function answerRows(route: ApiRoute): string[][] {
  const good = Object.entries(route.responses).map(([status, response]) => [
    status,
    response.schema ? typeText(response.schema as Described) : (response.contentType ?? 'no body'),
    [response.description, ...Object.keys(response.headers ?? {}).map((name) => `Header \`${name}\`.`)].join(' '),
  ])
  const bad = problemsOf(route).map((code) => [
    String(errorCatalogue[code].status),
    `\`${code}\``,
    `${errorCatalogue[code].title}.`,
  ])
  return [...good, ...bad.sort((a, b) => Number(a[0]) - Number(b[0]))]
}

function routeSection(route: ApiRoute): string[] {
  return [
    `### ${route.method} ${route.path}`,
    '',
    [route.summary, ...(route.description ? [route.description] : [])].join('. '),
    '',
    ...parameterLines(route),
    ...bodyLine(route),
    ...markdownTable(['Status', 'Body', 'When'], answerRows(route)),
    '',
  ]
}

function schemaSection(name: string, schema: TSchema): string[] {
  const { description } = schema as Described
  return [`### ${name}`, '', ...(description ? [description, ''] : []), ...fieldTable(schema), '']
}

/** The text of docs/reference/http.md. A test keeps file and route table equal. */
export function renderHttpReference(): string {
  return [
    '# HTTP API',
    '',
    'Generated from `packages/contract/src/routes.ts` by `npm run generate`; do not edit.',
    '',
    'JSON in and out, UTF-8, `snake_case`. Instants are RFC 3339 with an offset; durations are seconds and may have a',
    'fraction. Unknown keys and unknown query parameters are refused. Every answer carries `x-request-id`. Errors are',
    'RFC 9457 problem documents; their codes stand in [errors.md](errors.md). The same as OpenAPI 3.1: `/openapi.json`.',
    '',
    '## Routes',
    '',
    ...routeList.flatMap(routeSection),
    '## Bodies',
    '',
    ...Object.entries(components).flatMap(([name, schema]) => schemaSection(name, schema)),
  ].join('\n')
}
