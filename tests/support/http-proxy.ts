import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { cleanUpLater } from './clean-up.js'

/** An exchange that has been answered by the server and not yet been passed on. */
export interface ProxiedAnswer {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly body: string
  /** When it came, epoch ms. */
  readonly at: number
}

/** Decides about an answer: true cuts the connection in place of passing it on. */
export type Cut = (answer: ProxiedAnswer) => boolean

export interface HttpProxy {
  readonly url: string
  /** Answers that were withheld so far. */
  readonly cuts: readonly ProxiedAnswer[]
  cutWhen(cut: Cut): void
}

/**
 * Stands between a client and a server, and can lose answers on the way back: the server has done its work, the client
 * sees its connection break. Closed when the test file is done.
 *
 * @param target the server's address, asked for each request: several servers can so stand behind one address
 */
export async function startHttpProxy(target: () => string): Promise<HttpProxy> {
  const cuts: ProxiedAnswer[] = []
  const agent = new Agent({ keepAlive: true })
  let cut: Cut = () => false
  const server = createServer((incoming, outgoing) => {
    relay(incoming, outgoing, { target: target(), agent }).then(
      (answer) => {
        if (cut(answer)) {
          cuts.push(answer)
          incoming.socket.destroy()
        } else outgoing.end(answer.body)
      },
      () => incoming.socket.destroy(), // the server is gone, or the client went away first
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUpLater(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })
  const address = server.address()
  if (address === null || typeof address !== 'object') throw new Error('the proxy has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    cuts,
    cutWhen: (next) => {
      cut = next
    },
  }
}

/** Passes the request on and reads the answer whole; its head is set on `outgoing`, which the caller ends. */
async function relay(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { target, agent }: { target: string; agent: Agent },
): Promise<ProxiedAnswer> {
  const { method = 'GET', url: path = '/' } = incoming
  const upstream = request(`${target}${path}`, { method, headers: incoming.headers, agent })
  // A client that hangs up must be seen by the server too: it decides there what becomes of an open poll.
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) upstream.destroy()
  })
  incoming.pipe(upstream)
  const answer = await new Promise<IncomingMessage>((resolve, reject) =>
    upstream.once('response', resolve).once('error', reject),
  )
  const chunks: Buffer[] = []
  for await (const chunk of answer) chunks.push(chunk)
  const status = answer.statusCode ?? 502
  const { 'transfer-encoding': _, ...headers } = answer.headers
  outgoing.writeHead(status, headers)
  return { method, path, status, body: Buffer.concat(chunks).toString(), at: Date.now() }
}
