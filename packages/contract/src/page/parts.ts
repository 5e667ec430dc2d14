import { type ErrorCode, errorCatalogue } from '@duly/domain'
import { type Described, fieldsOf, limitText, meaningOf, type TypeWriter, typeText } from '../describe.js'
import { exampleOf } from '../example.js'
import { Html, html, prose } from './html.js'

/** Something that the page has a heading for: it can be reached, listed and searched. */
export interface Entry {
  readonly anchor: string
  readonly name: string
  readonly heading: Html
  /** How the contents list it. */
  readonly label: Html
  /** What it is found by beside its heading. */
  readonly words: readonly string[]
  readonly content: Html
}

export const schemaAnchor = (name: string): string => `schema-${name}`
export const errorAnchor = (code: string): string => `error-${code}`

const writer: TypeWriter = {
  component: (name) => html`<a href="#${schemaAnchor(name)}">${name}</a>`.text,
  value: (text) => html`<code>${text}</code>`.text,
}

/** The type of a schema, with links to the schemas that it names. */
export const typeOf = (schema: unknown): Html => new Html(typeText(schema as Described, writer))

/** The fields of an object as a list, each with type, limits and meaning. */
export function fieldList(schema: unknown): Html {
  const fields = fieldsOf(schema as Described)
  if (fields.length === 0) return html`<p>No fields.</p>`
  return html`<dl class="fields">${fields.map(
    ({ path, schema: field, isRequired }) => html`
<div><dt><code>${path}</code> <span class="type">${typeOf(field)}</span>${isRequired ? html` <span class="required">required</span>` : ''}</dt>
<dd>${lines(meaningOf(field))}${limits(field)}</dd></div>`,
  )}</dl>`
}

function lines(text: string): Html {
  return html`${text.split('\n').map((line, index) => html`${index === 0 ? '' : html`<br>`}${prose(line)}`)}`
}

function limits(schema: Described): Html {
  const text = limitText(schema)
  return text === '' ? html`` : html` <span class="limits">${text}</span>`
}

/** A description, line by line. */
export const description = (text: string | undefined): Html => (text ? html`<p>${lines(text)}</p>` : html``)

/** An example that can be opened. */
export function example(title: string, schema: object): Html {
  const text = JSON.stringify(exampleOf(schema, 'all'), null, 2)
  return html`<details><summary>${title}</summary><pre tabindex="0"><code>${text}</code></pre></details>`
}

/** Problems as a list, each with what it means. */
export function problemList(codes: readonly ErrorCode[]): Html {
  const sorted = [...codes].sort((a, b) => errorCatalogue[a].status - errorCatalogue[b].status)
  return html`<dl class="answers">${sorted.map((code) => {
    const { status, title } = errorCatalogue[code]
    return html`
<div><dt>${status} <a href="#${errorAnchor(code)}"><code>${code}</code></a></dt><dd>${title}.</dd></div>`
  })}</dl>`
}
