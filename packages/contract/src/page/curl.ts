import { type Described, fieldsOf } from '../describe.js'
import { exampleOf } from '../example.js'
import type { ApiRoute } from '../routes.js'

/** The address that examples are written with. */
export const exampleServer = 'http://127.0.0.1:7070'

/** The body that examples of a route send; undefined: it takes none. */
function exampleBody(route: ApiRoute): unknown {
  return route.body === undefined ? undefined : exampleOf(route.body, 'required')
}

/** A call of the route for a terminal: what must be given, with example values. */
export function curlOf(route: ApiRoute): string {
  const body = exampleBody(route)
  const parts = [
    `curl${route.method === 'GET' || (route.method === 'POST' && body !== undefined) ? '' : ` -X ${route.method}`}`,
    quoted(`${exampleServer}${pathOf(route)}${queryOf(route)}`),
    ...(route.scope === null ? [] : ['-H "authorization: Bearer $DULY_API_KEY"']),
    ...(body === undefined
      ? []
      : [
          `-H 'content-type: application/json'`,
          `-d ${quoted(JSON.stringify(body, null, 2).replaceAll('\n', '\n  '))}`,
        ]),
  ]
  return parts.join(' \\\n  ').replace(' \\\n  ', ' ')
}

function pathOf({ path, params }: ApiRoute): string {
  const examples = exampleOf(params ?? {}, 'all') as Readonly<Record<string, unknown>> | null
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(examples?.[name] ?? name)))
}

function queryOf({ query }: ApiRoute): string {
  const required = fieldsOf((query ?? {}) as Described).filter(({ isRequired }) => isRequired)
  const pairs = required.map(
    ({ path, schema }) => `${path}=${encodeURIComponent(String(exampleOf(schema, 'required')))}`,
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** One word for a POSIX shell. */
function quoted(text: string): string {
  return /^[\w:/.-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
