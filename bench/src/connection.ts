import { connect, type Socket } from 'node:net'

/** An answer, read whole. */
export interface Answer {
  readonly status: number
  readonly body: string
}

interface Waiting {
  resolve(answer: Answer): void
  reject(error: Error): void
}

/**
 * One keep-alive HTTP/1.1 connection with one request in flight: as lean as the load generators of the field, because
 * producer and server share the cores and the producer is not what is measured. Understands what our server answers:
 * a status line and a Content-Length.
 */
export class Connection {
  readonly #socket: Socket
  readonly #host: string
  #waiting: Waiting | null = null
  #received = ''

  private constructor(socket: Socket, host: string) {
    this.#socket = socket
    this.#host = host
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => this.#take(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
    socket.on('end', () => socket.destroy())
  }

  static open(url: URL): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(url.port), url.hostname)
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.off('error', reject)
        resolve(new Connection(socket, url.host))
      })
    })
  }

  /** @param body ASCII */
  post(path: string, body: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
    const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const head = `POST ${path} HTTP/1.1\r\nHost: ${this.#host}\r\nContent-Type: application/json\r\n${more.join('')}Content-Length: ${body.length}\r\n\r\n`
    return this.#send(head + body)
  }

  get(path: string): Promise<Answer> {
    return this.#send(`GET ${path} HTTP/1.1\r\nHost: ${this.#host}\r\n\r\n`)
  }

  #send(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(request, 'latin1')
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  /** False once either side closed it, as a server does with one that was idle for long. */
  get isOpen(): boolean {
    return !this.#socket.destroyed
  }

  #take(chunk: string): void {
    this.#received = this.#received === '' ? chunk : this.#received + chunk
    const bodyAt = this.#received.indexOf('\r\n\r\n') + 4
    if (bodyAt < 4) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#received.slice(0, bodyAt))?.[1]
    if (length === undefined) {
      this.#fail(new Error('an answer without Content-Length'))
      return
    }
    const end = bodyAt + Number(length)
    if (this.#received.length < end) return
    const answer = { status: Number(this.#received.slice(9, 12)), body: this.#received.slice(bodyAt, end) }
    this.#received = ''
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.resolve(answer)
  }

  #fail(error: Error): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.reject(error)
  }
}
