import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { cleanUpLater } from './clean-up.js'

/** How often it asks each node whether it is ready. */
const CHECK_MS = 100

export interface Balancer {
  readonly url: string
  /** Requests that it could not serve: no node was ready, or one broke off in the middle. */
  readonly failures: readonly string[]
  /** Resolves when so many nodes are ready by its own looks. */
  untilReady(count: number): Promise<void>
}

/**
 * A load balancer as they are: requests go round robin to the nodes whose `/readyz` said 200 at the last look, over
 * connections that are kept alive. It sends a request once more in one case only: when the connection was refused, so that
 * nothing of it was sent. Closed when the test file is done.
 *
 * @param nodes the nodes' addresses
 */
export async function startBalancer(nodes: readonly string[]): Promise<Balancer> {
  const balancer = new HttpBalancer(nodes)
  const url = await balancer.listen()
  cleanUpLater(() => balancer.close())
  return { url, failures: balancer.failures, untilReady: (count) => balancer.untilReady(count) }
}

class HttpBalancer {
  readonly failures: string[] = []
  readonly #nodes: readonly string[]
  readonly #ready = new Set<string>()
  readonly #agent = new Agent({ keepAlive: true })
  readonly #server = createServer((incoming, outgoing) => void this.#serve(incoming, outgoing))
  readonly #closing = new AbortController()
  #turn = 0

  constructor(nodes: readonly string[]) {
    this.#nodes = nodes
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    for (const node of this.#nodes) void this.#watch(node)
    const address = this.#server.address()
    if (address === null || typeof address !== 'object') throw new Error('the balancer has no port')
    return `http://127.0.0.1:${address.port}`
  }

  close(): void {
    this.#closing.abort()
    this.#server.closeAllConnections()
    this.#server.close()
    this.#agent.destroy()
  }

  async untilReady(count: number): Promise<void> {
    while (this.#ready.size < count) await delay(CHECK_MS / 2)
  }

  async #watch(node: string): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const answer = await fetch(`${node}/readyz`, { signal: AbortSignal.timeout(2_000) }).catch(() => null)
      await answer?.arrayBuffer().catch(() => {})
      if (answer?.ok) this.#ready.add(node)
      else this.#ready.delete(node)
      await delay(CHECK_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming).catch(() => null)
    if (body === null) return // its client has gone
    for (;;) {
      const node = this.#next()
      if (node === undefined) return this.#fail(incoming, outgoing, 'no node is ready')
      const error = await this.#relay(node, { incoming, body }, outgoing).catch((thrown: Error) => thrown)
      if (error === undefined || outgoing.destroyed) return
      if ('code' in error && error.code === 'ECONNREFUSED') this.#ready.delete(node)
      else return this.#fail(incoming, outgoing, `${node} broke off: ${error.message}`)
    }
  }

  #next(): string | undefined {
    const ready = this.#nodes.filter((node) => this.#ready.has(node))
    this.#turn += 1
    return ready[this.#turn % ready.length]
  }

  #fail({ method, url }: IncomingMessage, outgoing: ServerResponse, why: string): void {
    this.failures.push(`${method} ${url}: ${why}`)
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(502).end()
  }

  async #relay(
    node: string,
    { incoming, body }: { incoming: IncomingMessage; body: Buffer },
    outgoing: ServerResponse,
  ): Promise<undefined> {
    const { connection: _, 'transfer-encoding': __, ...headers } = incoming.headers
    const length = body.length > 0 ? { 'content-length': String(body.length) } : {}
    const { method = 'GET', url: path = '/' } = incoming
    const upstream = request(`${node}${path}`, { method, headers: { ...headers, ...length }, agent: this.#agent })
    // A client that hangs up must be seen by the node too: it decides there what becomes of an open poll.
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) upstream.destroy()
    })
    upstream.end(body)
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      upstream.once('response', resolve).once('error', reject),
    )
    const text = await bodyOf(answer)
    // how the node treats this connection is no business of the client's
    const { connection: ___, 'keep-alive': ____, 'transfer-encoding': _____, ...passed } = answer.headers
    outgoing.writeHead(answer.statusCode ?? 502, passed).end(text)
    return undefined
  }
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  return Buffer.concat(chunks)
}
