import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { apiRoutes, renderApiPage } from '@duly/contract'
import type { FastifyInstance } from 'fastify'
import type { ApiContext } from '../context.js'
import { accessTo } from '../plugins/access.js'

const asset = (url: URL): string => readFileSync(url, 'utf8')
const sha256 = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`

/**
 * The reference of the API as one page that needs no other and no network. Its policy lets nothing run and nothing be loaded but
 * the style and the script that stand in it.
 */
export function registerApiPage(app: FastifyInstance, { config }: ApiContext): void {
  const css = asset(new URL('../../../assets/api-page.css', import.meta.url))
  const script = asset(new URL('../../../assets/api-page.js', import.meta.url))
  const page = renderApiPage({ version: config.version, css, script })
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': [
      "default-src 'none'",
      `style-src '${sha256(css)}'`,
      `script-src '${sha256(script)}'`,
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'cache-control': 'no-cache',
    etag: `"${sha256(page)}"`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
  const { path } = apiRoutes.docs
  app.get(path, { config: accessTo(apiRoutes.docs) }, async (request, reply) => {
    reply.headers(headers)
    return request.headers['if-none-match'] === headers.etag ? reply.code(304).send() : reply.send(page)
  })
  // Relative, so that it also holds behind a proxy that adds a prefix.
  app.get(`${path}/`, { config: accessTo(apiRoutes.docs) }, async (_request, reply) => reply.redirect(`..${path}`, 308))
}
