import { PermanentError } from '@duly/sdk'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Fetches a page of this machine and tells what came. Other hosts are refused: a task's payload may come from anywhere, and
 * a worker should not be made to fetch for strangers.
 *
 * @param {{ url?: string } | null} payload default: the Duly server's own /healthz
 * @param {{ signal: AbortSignal }} context
 */
export async function fetchUrl(payload, { signal }) {
  const url = loopbackUrl(payload?.url ?? new URL('/healthz', process.env.DULY_URL ?? 'http://127.0.0.1:7070').href)
  const began = performance.now()
  const response = await fetch(url, { signal, redirect: 'error' })
  const body = await response.arrayBuffer()
  // A 5xx may pass: thrown as an ordinary error, the task is tried again.
  if (response.status >= 500) throw new Error(`${url} answered ${response.status}`)
  return { url, status: response.status, bytes: body.byteLength, ms: Math.round(performance.now() - began) }
}

/** @param {string} text */
function loopbackUrl(text) {
  if (!URL.canParse(text)) throw new PermanentError(`not a URL: ${text}`)
  const url = new URL(text)
  const isAllowed = ['http:', 'https:'].includes(url.protocol) && LOOPBACK.test(url.hostname)
  if (!isAllowed) throw new PermanentError(`this example fetches from this machine only, not from ${url.host}`)
  return url.href
}
