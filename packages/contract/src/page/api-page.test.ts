import { errorCodes } from '@duly/domain'
import { describe, expect, it } from 'vitest'
import { components } from '../components.js'
import { routeList } from '../routes.js'
import { tagList } from '../tags.js'
import { renderApiPage } from './api-page.js'
import { curlOf } from './curl.js'
import { html, prose } from './html.js'

const page = renderApiPage({ version: '1.2.3', css: 'a{}', script: 'const a = "<b>"' })
const allOf = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, found = '']) => found)
const headings = allOf(/<h3 id="([^"]+)"/g)

describe('the page of the API', () => {
  it('has every route, every schema and every error, each once, and lists them in its contents', () => {
    const wanted = [
      ...tagList.flatMap(({ name }) =>
        routeList.filter(({ tag }) => tag === name).map(({ operationId }) => operationId),
      ),
      ...Object.keys(components).map((name) => `schema-${name}`),
      ...errorCodes.map((code) => `error-${code}`),
    ]
    expect(headings).toEqual(wanted)
    expect(allOf(/<li data-entry="([^"]+)"/g)).toEqual(wanted)
    expect(wanted.length).toBeGreaterThan(routeList.length)
  })

  it('leads nowhere but to itself and to the OpenAPI document', () => {
    const ids = allOf(/ id="([^"]+)"/g)
    expect(new Set(ids).size).toBe(ids.length)
    const links = new Set(allOf(/ href="([^"]+)"/g))
    const elsewhere = [...links].filter((link) => !link.startsWith('#'))
    expect(elsewhere).toEqual(['data:,', 'openapi.json'])
    for (const link of links) if (link.startsWith('#')) expect(ids).toContain(link.slice(1))
    expect(page).not.toMatch(/ (src|srcset|action|style|on\w+)=/)
  })

  it('is well formed: every element is closed in order', () => {
    const open: string[] = []
    for (const [, end, name = ''] of page
      .replace(/<(script|style)>[\s\S]*?<\/\1>/g, '')
      .matchAll(/<(\/?)([a-z0-9]+)/g)) {
      if (['meta', 'link', 'input', 'br', 'wbr'].includes(name)) continue
      if (end === '') open.push(name)
      else expect(open.pop()).toBe(name)
    }
    expect(open).toEqual([])
  })

  it('keeps style and script as they were given', () => {
    expect(page).toContain('<style>a{}</style>')
    expect(page).toContain('<script>const a = "<b>"</script>')
    expect(page).toContain('<title>Duly HTTP API 1.2.3</title>')
  })
})

describe('text put into HTML', () => {
  it('is escaped wherever it comes from', () => {
    const evil = `<img src=x onerror="a('&')">`
    const safe = '&lt;img src=x onerror=&quot;a(&#39;&amp;&#39;)&quot;&gt;'
    expect(html`<p>${evil}${[evil, html`<b>${evil}</b>`]}</p>`.text).toBe(`<p>${safe}${safe}<b>${safe}</b></p>`)
    expect(prose('say `a<b` & `c`').text).toBe('say <code>a&lt;b</code> &amp; <code>c</code>')
  })
})

describe('the call of a route', () => {
  const call = (operationId: string) => {
    const route = routeList.find((each) => each.operationId === operationId)
    if (!route) throw new Error(`no route ${operationId}`)
    return curlOf(route)
  }

  it('has its method, its path and, where one is wanted, key and body', () => {
    expect(call('healthz')).toBe('curl http://127.0.0.1:7070/healthz')
    expect(call('leave')).toMatch(
      /^curl -X DELETE http:\/\/127\.0\.0\.1:7070\/api\/v1\/workers\/worker-[0-9a-z]{26} \\\n {2}-H/,
    )
    expect(call('cancelTask')).toMatch(/^curl -X POST /)
    expect(call('submitTask')).toMatch(
      /-H 'content-type: application\/json' \\\n {2}-d '\{\n {4}"task_type": "send_email",[\s\S]*\}'$/,
    )
  })
})
