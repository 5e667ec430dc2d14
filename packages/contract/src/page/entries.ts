import { errorCatalogue, errorCodes, scopes } from '@duly/domain'
import { components } from '../components.js'
import { type Described, fieldsOf } from '../describe.js'
import { type ApiResponse, type ApiRoute, problemsOf, routeList } from '../routes.js'
import { curlOf } from './curl.js'
import { type Html, html, prose } from './html.js'
import { description, type Entry, errorAnchor, example, fieldList, problemList, schemaAnchor, typeOf } from './parts.js'

type Route = (typeof routeList)[number]

/** One entry for each route of a tag. */
export function routeEntries(tag: ApiRoute['tag']): readonly Entry[] {
  return routeList.filter((route) => route.tag === tag).map(routeEntry)
}

function routeEntry(route: Route): Entry {
  const method = html`<span class="method ${route.method.toLowerCase()}">${route.method}</span>`
  const places = [route.params, route.query, route.headers, route.body]
  return {
    anchor: route.operationId,
    name: `${route.method} ${route.path}`,
    heading: html`${method} <code>${breakable(route.path)}</code>`,
    label: html`${method} ${route.summary}`,
    words: [
      ...[route.method, route.path, route.summary, route.description ?? '', route.operationId, route.scope ?? ''],
      ...places.flatMap((schema) => fieldsOf((schema ?? {}) as Described).map(({ path }) => path)),
      ...problemsOf(route),
    ],
    content: routeContent(route),
  }
}

/** A long path may break after its slashes. */
function breakable(path: string): Html {
  return html`${path.split('/').map((part, index) => (index === 0 ? part : html`/<wbr>${part}`))}`
}

function routeContent(route: Route): Html {
  return html`
<p class="summary">${prose(route.summary)}.</p>
${description(route.description)}
<p class="scope">${scopeText(route)}</p>
<pre class="curl" tabindex="0" data-copy="the call of ${route.method} ${route.path}"><code>${curlOf(route)}</code></pre>
${parameters('In the path', route.params)}${parameters('Query', route.query)}${parameters('Headers', route.headers)}
${bodyOf(route)}
<h4>Answers</h4>
<dl class="answers">${Object.entries(route.responses).map(([status, response]) => answer(status, response))}</dl>
<details><summary>Problems</summary>${problemList(problemsOf(route))}</details>`
}

function scopeText({ scope }: Route): Html {
  if (scope === null) return html`Needs no API key.`
  const { doc } = scopes.find(({ name }) => name === scope) ?? { doc: '' }
  return html`Scope: <span class="badge">${scope}</span> ${doc}.`
}

function parameters(title: string, schema: ApiRoute['params']): Html {
  return schema === undefined ? html`` : html`<h4>${title}</h4>${fieldList(schema)}`
}

function bodyOf({ body, bodyLimit }: Route): Html {
  if (body === undefined) return html``
  return html`<h4>Body</h4>
<p>${typeOf(body)}, JSON, at most ${bodyLimit === 'batch' ? 64 : 2} MiB.</p>
${fieldList(body)}
${example('An example of a whole body', body)}`
}

function answer(status: string, { schema, description: text, contentType, stream, headers = {} }: ApiResponse): Html {
  const names = Object.keys(headers).map((name) => html` Header <code>${name}</code>.`)
  return html`
<div><dt><span class="status">${status}</span> ${schema ? typeOf(schema) : (contentType ?? 'no body')}${stream ? html`, or ${typeOf(stream.record)} a line (${stream.contentType})` : ''}</dt>
<dd>${prose(text)}${names}${schema ? example('Example', schema) : ''}</dd></div>`
}

/** One entry for each schema that has a name. */
export function schemaEntries(): readonly Entry[] {
  return Object.entries(components).map(([name, schema]) => ({
    anchor: schemaAnchor(name),
    name,
    heading: html`${name}`,
    label: html`${name}`,
    words: [name, ...fieldsOf(schema as Described).map(({ path }) => path)],
    content: schemaContent(schema as Described),
  }))
}

function schemaContent(schema: Described): Html {
  if (!schema.enum) return html`${description(schema.description)}${fieldList(schema)}${example('Example', schema)}`
  const meanings = new Map((schema.description ?? '').split('\n').map((line) => splitAt(line, ': ')))
  return html`<dl class="answers">${schema.enum.map(
    (value) => html`
<div><dt><code>${String(value)}</code></dt><dd>${prose(meanings.get(String(value)) ?? '')}</dd></div>`,
  )}</dl>`
}

function splitAt(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}

/** One entry for each code of a problem document. */
export function errorEntries(): readonly Entry[] {
  return errorCodes.map((code) => {
    const { status, title, retryable, doc } = errorCatalogue[code]
    return {
      anchor: errorAnchor(code),
      name: code,
      heading: html`<span class="status">${status}</span> <code>${code}</code>`,
      label: html`${status} ${code}`,
      words: [code, String(status), title, doc],
      content: html`<p>${title}. ${prose(doc)}</p>
<p>${retryable ? 'The same request may work later.' : 'The same request will not work later.'}</p>`,
    }
  })
}
