/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text
  }
}

type Content = Html | string | number | readonly Content[]

/** HTML from a template: everything put in is escaped, unless it is HTML itself. */
export function html(strings: TemplateStringsArray, ...contents: readonly Content[]): Html {
  return new Html(
    strings.map((text, index) => text + (index in contents ? written(contents[index] ?? '') : '')).join(''),
  )
}

function written(content: Content): string {
  if (content instanceof Html) return content.text
  if (typeof content === 'string' || typeof content === 'number') return escaped(String(content))
  return content.map(written).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => entities[char] ?? char)
}

/** A sentence in which `code` stands between backticks. */
export function prose(text: string): Html {
  return html`${text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`
}
