import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import pg from 'pg'
import { migrate } from '../../packages/server/src/store/migrations.js'
import { startTestPostgres, type TestPostgres } from './test-postgres.js'

/**
 * Hands out databases to the test files, which run in processes of their own. Lives in Vitest's main process, so that one
 * server serves all files; starts it at the first request only, so that a run of pure unit tests starts none.
 *
 * `POST /` → `{url}` of a new migrated database, `POST /empty` → of an empty one, `DELETE /<name>` drops one.
 */
export class DatabaseService {
  readonly #http: Server = createServer((request, response) => {
    this.#answer(request.method ?? '', request.url ?? '').then(
      (body) => response.end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.stack : String(error)),
    )
  })
  readonly #made = new Set<string>()
  /** One statement at a time: PostgreSQL refuses to copy a template while another copy of it starts. */
  #line: Promise<unknown> = Promise.resolve()
  #postgres: Promise<TestPostgres> | undefined
  #template: Promise<string> | undefined

  /** @returns the address for `createDatabase` */
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#http.listen(0, '127.0.0.1', resolve))
    const address = this.#http.address()
    if (address === null || typeof address !== 'object') throw new Error('the database service has no port')
    return `http://127.0.0.1:${address.port}`
  }

  async stop(): Promise<void> {
    this.#http.close()
    this.#http.closeAllConnections()
    if (!this.#postgres) return
    const postgres = await this.#postgres
    // Only matters on a server that isn't ours, where they would stay behind.
    for (const name of this.#made) await this.#admin(`drop database if exists ${name} with (force)`)
    await postgres.stop()
  }

  async #answer(method: string, path: string): Promise<{ url: string } | { dropped: string }> {
    if (method === 'POST')
      return { url: await this.#create(path === '/empty' ? undefined : await this.#prepareTemplate()) }
    const name = path.slice(1)
    if (!this.#made.delete(name)) throw new Error(`no database ${name} of ours`)
    await this.#admin(`drop database if exists ${name} with (force)`)
    return { dropped: name }
  }

  #prepareTemplate(): Promise<string> {
    this.#template ??= this.#create().then(async (url) => {
      await migrate(url)
      return new URL(url).pathname.slice(1)
    })
    return this.#template
  }

  async #create(template?: string): Promise<string> {
    const name = `duly_test_${randomBytes(6).toString('hex')}`
    await this.#admin(`create database ${name}${template ? ` template ${template}` : ''}`)
    this.#made.add(name)
    const url = new URL(await this.#serverUrl())
    url.pathname = `/${name}`
    return url.href
  }

  async #serverUrl(): Promise<string> {
    this.#postgres ??= startTestPostgres()
    return (await this.#postgres).url
  }

  #admin(statement: string): Promise<void> {
    const work = this.#line.then(async () => {
      const client = new pg.Client({ connectionString: await this.#serverUrl() })
      await client.connect()
      await client.query(statement).finally(() => client.end())
    })
    this.#line = work.catch(() => {}) // told to whoever asked; the next in line is not concerned
    return work
  }
}
