import { Agent, type IncomingHttpHeaders, request as open } from 'node:http'

export interface Request {
  readonly method: string
  /** With its query, percent-encoded. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as application/json. */
  readonly body?: Buffer
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Longer than any wait that the tests ask for, also on a loaded machine. */
const SILENCE_LIMIT_MS = 120_000

/** HTTP as it is: no path is tidied, no answer is followed, and silence is an error. */
export class Client {
  readonly #url: string
  #edits: Promise<unknown> = Promise.resolve()
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 })

  constructor(url: string) {
    this.#url = url
  }

  /** Edits go one after the other, so that each answer shows what it did itself. */
  async send(request: Request): Promise<Answer> {
    if (request.method !== 'PATCH' && request.method !== 'PUT') return this.#send(request)
    const answer = this.#edits.then(() => this.#send(request))
    this.#edits = answer.catch(() => {})
    return answer
  }

  #send(request: Request): Promise<Answer> {
    const { body } = request
    const form = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(body.length) }
    return new Promise((resolve, reject) => {
      const { hostname, port } = new URL(this.#url)
      const sent = open({
        ...{ hostname, port, agent: this.#agent, method: request.method, path: request.path },
        headers: { ...form, ...request.headers },
        timeout: SILENCE_LIMIT_MS,
      })
      sent.once('timeout', () => sent.destroy(new Error(`no answer in ${SILENCE_LIMIT_MS} ms`)))
      sent.once('error', reject)
      sent.once('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes: Buffer.concat(chunks) }),
        )
      })
      sent.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
