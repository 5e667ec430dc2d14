import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { cleanUpLater } from '../../../../tests/support/clean-up.js'

/**
 * request — the client's bytes that hold the text never reach the server, and both sides break.
 * delivered — they do reach it, then the client's side breaks at once; the server does not notice.
 * answer — the server has answered them completely, and the COMMIT of their transaction if they were part of one; that last answer is lost.
 */
export type CutAt = 'request' | 'delivered' | 'answer'

export interface TcpProxy {
  /** The url of the database, through the proxy. */
  readonly url: string
  /** Cuts the next connection on which the client sends bytes that hold `text`; resolves when it has. */
  cut(at: CutAt, text: string): Promise<void>
}

interface Rule {
  readonly at: CutAt
  readonly text: string
  readonly done: () => void
}

/** ReadyForQuery outside a transaction: the last message of an answer, sent after the commit. */
const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Stands before a PostgreSQL and breaks connections at a chosen point of the protocol. Ends with the test file. */
export async function startTcpProxy(databaseUrl: string): Promise<TcpProxy> {
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  let rule: Rule | null = null
  const take = (): Rule | null => {
    const taken = rule
    rule = null
    return taken
  }
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    for (const socket of [client, upstream]) sockets.add(socket.on('error', () => {}))
    let pending: Rule | null = null
    let isCut = false
    const cut = (by: Rule): void => {
      isCut = true
      client.destroy()
      by.done()
    }
    client.on('data', (data: Buffer) => {
      const hit = rule !== null && data.includes(rule.text) ? take() : null
      if (hit?.at === 'request') {
        upstream.destroy()
        return cut(hit)
      }
      upstream.write(data)
      if (hit?.at === 'delivered') cut(hit)
      else pending = hit ?? pending
    })
    upstream.on('data', (data: Buffer) => {
      if (isCut) return
      if (pending !== null && data.subarray(-readyForQuery.length).equals(readyForQuery)) return cut(pending)
      client.write(data)
    })
    // what was delivered stays delivered: the server's side of a cut connection is left open
    client.on('close', () => isCut || upstream.destroy())
    upstream.on('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUpLater(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  if (address === null || typeof address !== 'object') throw new Error('the proxy has no port')
  const url = new URL(databaseUrl)
  url.port = String(address.port)
  return { url: url.href, cut: (at, text) => new Promise((done) => (rule = { at, text, done })) }
}
