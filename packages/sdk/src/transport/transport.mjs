/**
 * JSON over HTTP/1.1 keep-alive: one request, one answer, no retries and no opinion about statuses.
 *
 * Plain JavaScript with checked types, because the heartbeat thread loads it too: a thread's entry file must run as it
 * stands, from the sources (tests) and from the build alike.
 */
import http from 'node:http'
import https from 'node:https'

/**
 * @typedef {object} TransportOptions
 * @property {readonly string[]} urls base addresses of the nodes, e.g. `http://127.0.0.1:7070`: one is used until it fails
 * @property {string | undefined} [apiKey] sent as a bearer token
 * @property {number} maxSockets most connections at a time; further requests queue
 * @property {https.AgentOptions | undefined} [tls] certificates and the like, for `https:` addresses
 */

/**
 * @typedef {object} Exchange
 * @property {'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} method
 * @property {string} path below the base address, e.g. `/api/v1/tasks`
 * @property {string | undefined} [body] JSON text
 * @property {Readonly<Record<string, string>> | undefined} [headers]
 * @property {number} timeoutMs longest silence on the connection
 * @property {AbortSignal | undefined} [signal]
 * @property {string | undefined} [streams] an answer of this type comes as it is written
 * @property {(() => void) | undefined} [onSent] called once: the request was handed to the operating system, or failed
 */

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {http.IncomingHttpHeaders} headers
 * @property {string} body
 * @property {AsyncIterable<Buffer> | null} chunks the body of a stream, while it comes; it rejects with a {@link TransportError}
 * @property {boolean} isElsewhereNext this node cannot serve now, and the next request goes to another one
 */

/**
 * @typedef {object} Transport
 * @property {(exchange: Exchange) => Promise<Answer>} send rejects with a {@link TransportError}
 * @property {() => void} close ends all connections; requests under way fail
 */

/** Errors of a connection that never stood: the request surely did not reach the server. */
const NEVER_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'])

/** No answer came. `mayHaveArrived` tells whether the server may have acted on the request all the same. */
export class TransportError extends Error {
  /**
   * @param {string} code of the operating system, or `ABORTED`, `TIMEOUT`, `CUT`
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(code, message, cause) {
    super(message, { cause })
    this.name = 'TransportError'
    /** @readonly */
    this.code = code
    /** @readonly */
    this.mayHaveArrived = !NEVER_SENT.has(code)
    /** Address that was asked. */
    this.url = ''
  }
}

/** A node that stops, or has lost its database; a proxy that does not reach its node. Another one may serve. */
const AWAY = new Set([502, 503, 504])

/**
 * @param {TransportOptions} options
 * @returns {Transport}
 */
export function createTransport(options) {
  const nodes = options.urls.map((url) => nodeAt(url, options))
  // Each client begins with another node, so that they spread.
  let current = Math.floor(Math.random() * nodes.length)
  /** @type {Record<string, string>} */
  const common = { accept: 'application/json', 'user-agent': 'duly-sdk' }
  if (options.apiKey !== undefined) common.authorization = `Bearer ${options.apiKey}`

  /** @param {number} failed */
  const moveOn = (failed) => {
    // Of many requests that failed together the first one moves all.
    if (current === failed) current = (failed + 1) % nodes.length
    return current !== failed
  }

  return {
    send: async (exchange) => {
      const used = current
      const node = /** @type {Node} */ (nodes[used])
      const headers = { ...common, ...exchange.headers }
      if (exchange.body !== undefined) headers['content-type'] = 'application/json'
      try {
        const answer = await converse(node.request(exchange, headers), exchange)
        return { ...answer, isElsewhereNext: AWAY.has(answer.status) && moveOn(used) }
      } catch (error) {
        if (error instanceof TransportError) {
          error.url = node.url
          if (error.code !== 'ABORTED') moveOn(used)
        }
        throw error
      }
    },
    close: () => {
      for (const { agent } of nodes) agent.destroy()
    },
  }
}

/**
 * @typedef {object} Node
 * @property {string} url
 * @property {http.Agent} agent
 * @property {(exchange: Exchange, headers: Record<string, string>) => http.ClientRequest} request
 */

/**
 * @param {string} url
 * @param {TransportOptions} options
 * @returns {Node}
 */
function nodeAt(url, options) {
  const base = new URL(url)
  const driver = base.protocol === 'https:' ? https : http
  const agent = new driver.Agent({ keepAlive: true, maxSockets: options.maxSockets, ...options.tls })
  const target = {
    agent,
    protocol: base.protocol,
    // Brackets belong to the notation of an IPv6 address, not to the address.
    hostname: base.hostname.replace(/^\[|\]$/g, ''),
    port: base.port,
  }
  const prefix = base.pathname.replace(/\/+$/, '')
  return {
    url,
    agent,
    request: ({ method, path, timeoutMs: timeout }, headers) =>
      driver.request({ ...target, method, path: prefix + path, headers, timeout }),
  }
}

/**
 * @param {http.ClientRequest} request
 * @param {Exchange} exchange
 * @returns {Promise<Omit<Answer, 'isElsewhereNext'>>}
 */
function converse(request, exchange) {
  const { signal, onSent } = exchange
  return new Promise((resolve, reject) => {
    let sent = false
    const markSent = () => {
      if (sent) return
      sent = true
      onSent?.()
    }
    const onAbort = () => request.destroy(new TransportError('ABORTED', 'the request was aborted', signal?.reason))
    const settle = () => signal?.removeEventListener('abort', onAbort)
    /** @param {unknown} error */
    const fail = (error) => {
      settle()
      markSent()
      reject(asTransportError(error))
    }
    request.on('error', fail)
    request.on('timeout', () => request.destroy(new TransportError('TIMEOUT', `no answer in ${exchange.timeoutMs} ms`)))
    request.on('response', (response) => {
      const { statusCode: status = 0, headers } = response
      if (isStream(headers, exchange)) return resolve({ status, headers, body: '', chunks: chunksOf(response, settle) })
      readBody(response, (body) => {
        settle()
        resolve({ status, headers, body, chunks: null })
      }).on('error', fail)
    })
    if (onSent !== undefined) request.once('finish', markSent)
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort)
    request.end(exchange.body)
  })
}

/**
 * @param {http.IncomingHttpHeaders} headers
 * @param {Exchange} exchange
 */
function isStream(headers, { streams }) {
  return streams !== undefined && headers['content-type']?.startsWith(streams) === true
}

/**
 * Taken no faster than they are wanted; whoever stops before the end ends the connection.
 *
 * @param {http.IncomingMessage} response
 * @param {() => void} settle
 * @returns {AsyncIterable<Buffer>}
 */
async function* chunksOf(response, settle) {
  try {
    yield* response
  } catch (error) {
    throw asTransportError(error)
  } finally {
    settle()
  }
}

/**
 * @param {http.IncomingMessage} response
 * @param {(body: string) => void} done
 */
function readBody(response, done) {
  /** @type {Buffer[]} */
  const chunks = []
  response.on('data', (chunk) => chunks.push(chunk))
  response.on('end', () => {
    const [first] = chunks
    done(chunks.length === 1 && first !== undefined ? first.toString() : Buffer.concat(chunks).toString())
  })
  return response.on('close', () => {
    if (!response.complete) response.emit('error', new TransportError('CUT', 'the answer was cut off'))
  })
}

/** @param {unknown} error */
function asTransportError(error) {
  if (error instanceof TransportError) return error
  const { code = 'UNKNOWN', message = String(error) } = /** @type {{ code?: string, message?: string }} */ (error ?? {})
  return new TransportError(code, message || code, error)
}
