import { Socket } from 'node:net'
import pg from 'pg'
import type { Row, Statement } from './database.js'

export interface OwnConnectionOptions {
  readonly url: string
  readonly applicationName: string
  /** Session settings, by name. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>
  /** Cuts the connection when it aborts: a query under way rejects at once; the server may still finish it. */
  readonly signal?: AbortSignal
}

/** One connection of a duty's own: it waits for no pool, and no pool waits for it. Whoever opened it closes it. */
export class OwnConnection {
  readonly #client: pg.Client
  readonly #release: () => void

  private constructor(client: pg.Client, release: () => void) {
    this.#client = client
    this.#release = release
  }

  static async open({ url, applicationName, settings = {}, signal }: OwnConnectionOptions): Promise<OwnConnection> {
    const socket = new Socket()
    const cut = (): void => void socket.destroy()
    const client = new pg.Client({
      connectionString: url,
      application_name: applicationName,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
      stream: () => socket,
      options: Object.entries(settings)
        .map(([name, value]) => `-c ${name}=${value}`)
        .join(' '),
    })
    // an error between two queries must not end the process; the next query reports it
    client.on('error', () => {})
    signal?.addEventListener('abort', cut, { once: true })
    const release = (): void => signal?.removeEventListener('abort', cut)
    try {
      await client.connect()
      return new OwnConnection(client, release)
    } catch (error) {
      release()
      throw error
    }
  }

  /** The process of the server behind it. */
  get pid(): number | null {
    return 'processID' in this.#client && typeof this.#client.processID === 'number' ? this.#client.processID : null
  }

  async query<R extends object = Row>(statement: Statement, values: readonly unknown[] = []): Promise<R[]> {
    const result = await this.#client.query<R>({ ...statement, values: values as unknown[] })
    return result.rows
  }

  /** Statements without parameters, sent as one message: the server runs all of them whatever becomes of the client. */
  async script(text: string): Promise<void> {
    await this.#client.query(text)
  }

  async close(): Promise<void> {
    this.#release()
    await this.#client.end().catch(() => {})
  }
}
