import { errorCatalogue, scopes } from '@duly/domain'
import type { TSchema } from 'typebox'
import { components } from './components.js'
import { type Described, fieldsOf, limitText, meaningOf, type TypeWriter, typeText } from './describe.js'
import { markdownTable } from './markdown.js'
import { type ApiResponse, type ApiRoute, problemsOf, routeList } from './routes.js'
import { tagList } from './tags.js'

const markdown: TypeWriter = {
  component: (name) => `[${name}](#${name.toLowerCase()})`,
  value: (text) => `\`${text}\``,
}

const typeOf = (schema: TSchema | Described): string => typeText(schema as Described, markdown)

function fieldTable(schema: TSchema): string[] {
  const rows = fieldsOf(schema as Described).map(({ path, schema: field, isRequired }) => [
    `\`${path}\``,
    typeOf(field),
    isRequired ? 'yes' : '',
    limitText(field),
    meaningOf(field).replaceAll('\n', ' '),
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
  return [`Body: ${typeOf(route.body)}, at most ${limit}.`, '']
}

function bodyOf({ schema, contentType, stream }: ApiResponse): string {
  const body = schema ? typeOf(schema) : (contentType ?? 'no body')
  return stream ? `${body}, or ${typeOf(stream.record)} a line (\`${stream.contentType}\`)` : body
}

function answerRows(route: ApiRoute): string[][] {
  const good = Object.entries(route.responses).map(([status, response]) => [
    status,
    bodyOf(response),
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
    route.scope === null ? 'Needs no API key.' : `Scope: \`${route.scope}\`.`,
    '',
    ...parameterLines(route),
    ...bodyLine(route),
    ...markdownTable(['Status', 'Body', 'When'], answerRows(route)),
    '',
  ]
}

function schemaSection(name: string, schema: TSchema): string[] {
  const { description, enum: values } = schema as Described
  if (values) return [`### ${name}`, '', ...(description ?? '').split('\n').map((line) => `- ${line}`), '']
  return [`### ${name}`, '', ...(description ? [description, ''] : []), ...fieldTable(schema), '']
}

function tagSection({ name, doc }: (typeof tagList)[number]): string[] {
  return [`## Routes: ${name}`, '', doc, '', ...routeList.filter(({ tag }) => tag === name).flatMap(routeSection)]
}

/** One line a route, under which it is found. */
function contents(): string[] {
  const rows = routeList.map((route) => {
    const heading = `${route.method} ${route.path}`
    return [`[${heading}](#${anchorOf(heading)})`, route.scope ?? '', route.summary]
  })
  return markdownTable(['Route', 'Scope', 'Does'], rows)
}

/** As GitHub makes anchors of headings. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-')

/** The text of docs/reference/http.md. A test keeps file and route table equal. */
export function renderHttpReference(): string {
  return [
    '# HTTP API',
    '',
    'Generated from `packages/contract/src/routes.ts` by `npm run generate`; do not edit.',
    '',
    'JSON in and out, UTF-8, `snake_case`. Instants are RFC 3339 with an offset; durations are seconds and may have a',
    'fraction. Unknown keys and unknown query parameters are refused. Every answer carries `x-request-id`. Errors are',
    'RFC 9457 problem documents; their codes stand in [errors.md](errors.md). Where a scope is named, a server that asks for',
    'keys wants `authorization: Bearer …` with a key that has it. A running server shows the same as a page, `/docs`, and as',
    'OpenAPI 3.1, `/openapi.json`.',
    '',
    ...contents(),
    '',
    '## Scopes',
    '',
    ...scopes.map(({ name, doc }) => `- \`${name}\`: ${doc}`),
    '',
    ...tagList.flatMap(tagSection),
    '## Bodies',
    '',
    ...Object.entries(components).flatMap(([name, schema]) => schemaSection(name, schema)),
  ].join('\n')
}
