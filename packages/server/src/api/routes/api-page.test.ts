import { createHash } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { testApi } from '../test-support/test-api.js'

const api = testApi()
afterAll(() => api.app.close())

const call = (url: string, method = 'GET', headers: Record<string, string> = {}) => api.call({ method, url, headers })

describe('/docs', () => {
  it('is a page that lets nothing run and nothing be loaded but what stands in it', async () => {
    const { status, text, headers } = await call('/docs')
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: 'text/html; charset=utf-8' })
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(/^default-src 'none'; /)
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    for (const [element, directive] of [
      ['style', 'style-src'],
      ['script', 'script-src'],
    ]) {
      const [, content = ''] = new RegExp(`<${element}>([\\s\\S]*?)</${element}>`).exec(text) ?? []
      expect(content.length).toBeGreaterThan(1_000)
      const hash = createHash('sha256').update(content).digest('base64')
      expect(policy).toContain(`${directive} 'sha256-${hash}'`)
    }
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
  })

  it('names no other host than the one of its examples', async () => {
    const { text } = await call('/docs')
    const addresses = new Set([...text.matchAll(/(?:https?:)?\/\/[\w.:-]+\.[\w.:-]+/g)].map(([address]) => address))
    expect([...addresses]).toEqual(['http://127.0.0.1:7070'])
  })

  it('is not sent again while it is the same', async () => {
    const { headers } = await call('/docs')
    const again = await call('/docs', 'GET', { 'if-none-match': String(headers.etag) })
    expect(again).toMatchObject({ status: 304, text: '' })
    expect((await call('/docs', 'GET', { 'if-none-match': '"other"' })).status).toBe(200)
  })

  it('answers HEAD, and with a slash leads to itself', async () => {
    const page = await call('/docs')
    const head = await call('/docs', 'HEAD')
    expect(head).toMatchObject({ status: 200, text: '' })
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(page.text)))
    expect(await call('/docs/')).toMatchObject({ status: 308, headers: { location: '../docs' } })
    expect(await call('/docs?from=link')).toMatchObject({ status: 200 })
  })

  it.each(['/docs/index.html', '/docs/..%2f..%2fpackage.json', '/docsx', '/docs//'])(
    'is alone: %s is a problem document',
    async (url) => {
      expect(await call(url)).toMatchObject({ status: 404, json: { code: 'not_found' } })
    },
  )

  it('takes no other method', async () => {
    expect(await call('/docs', 'POST')).toMatchObject({ status: 405, json: { code: 'method_not_allowed' } })
  })
})
