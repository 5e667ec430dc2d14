import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { freePort } from '../../../../tests/support/ports.js'
import { RawJson } from '../client/raw-json.js'

export interface Call {
  readonly method: string
  readonly path: string
  readonly body: Record<string, unknown>
  /** The body as it came. */
  readonly text: string
  readonly headers: IncomingMessage['headers']
  /** Aborts when the client went away before it was answered. */
  readonly gone: AbortSignal
}

export interface Reply {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Raw JSON is sent as it is written. */
  readonly body?: unknown
  /** A body that is no JSON. */
  readonly text?: string
  /** Cut the connection instead of answering; behind the text, if there is one. */
  readonly cut?: boolean
  /** Say no more after the text, and keep the answer open. */
  readonly isOpen?: boolean
}

/** A peer that answers as the test says and remembers what it was asked. */
export class ScriptedServer {
  readonly calls: Call[] = []
  readonly #server: Server
  readonly #waiters = new Set<() => void>()
  readonly #answer: (call: Call) => Reply | Promise<Reply>

  private constructor(answer: (call: Call) => Reply | Promise<Reply>) {
    this.#answer = answer
    this.#server = createServer((request, response) => void this.#serve(request, response))
  }

  /** At a port that nobody takes when it has stopped, unless one is given. */
  static async start(answer: (call: Call) => Reply | Promise<Reply>, given?: number): Promise<ScriptedServer> {
    const port = given ?? (await freePort())
    const server = new ScriptedServer(answer)
    // no connection is closed while it is idle: a call that comes at that instant would be cut
    server.#server.keepAliveTimeout = 0
    await new Promise<void>((resolve) => server.#server.listen(port, '127.0.0.1', resolve))
    return server
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`
  }

  /** The calls whose path ends so. */
  callsTo(ending: string): readonly Call[] {
    return this.calls.filter(({ path }) => path.endsWith(ending))
  }

  /** Resolves when the condition holds; looked at after each call. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiters.add(resolve))
  }

  /** Looks at all conditions again. */
  notify(): void {
    for (const wake of this.#waiters) wake()
    this.#waiters.clear()
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const call: Call = {
      method: request.method ?? '',
      path: request.url ?? '',
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      text,
      headers: request.headers,
      gone: gone.signal,
    }
    this.calls.push(call)
    this.notify()
    const { status = 200, headers = {}, body, text: answer, cut = false, isOpen = false } = await this.#answer(call)
    if (cut && answer === undefined) return void request.socket.destroy()
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    if (cut) return void response.write(answer, () => request.socket.destroy())
    if (isOpen) return void response.write(answer)
    if (answer !== undefined) return void response.end(answer)
    response.end(body instanceof RawJson ? body.text : body === undefined ? '' : JSON.stringify(body))
    this.notify()
  }
}

/** A problem document. */
export function problem(status: number, code: string, headers: Record<string, string> = {}): Reply {
  return { status, headers, body: { title: code, status, code, detail: 'as scripted', request_id: 'req-1' } }
}
