import type { Clock, Uuid } from '@duly/domain'
import pg from 'pg'
import type { Logger } from 'pino'
import type { Database, Statement } from '../store/database.js'
import { revocations } from '../store/key-store.js'

/** What nodes tell each other, as hints: everything said here is found again by a slower look (I2, I3). */
export interface Hints {
  /** Queues that got ready tasks. */
  readonly ready: readonly string[]
  /** Sessions that have something to be told. */
  readonly session: readonly string[]
  /** Sessions that get nothing more. */
  readonly drain: readonly string[]
  /** Tasks that finished. */
  readonly finished: readonly string[]
  /** A timer that is due soon was set elsewhere. */
  readonly timers: boolean
  /** A node listens from now on: it is to be told, too. */
  readonly joined: boolean
}

const listHints = ['drain', 'session', 'ready', 'finished'] as const
type ListHint = (typeof listHints)[number]

export interface SignalsOptions {
  readonly database: Database
  readonly url: string
  /** Tells a node's own words from those of others: its id, since its number is given again when it was unseen for long. */
  readonly nodeId: Uuid
  readonly clock: Clock
  readonly log: Logger
  /** How many other nodes may be listening; nothing is sent to none. */
  readonly others: () => number
  readonly onHints: (hints: Hints) => void
  /** An API key was revoked, here or elsewhere: the store tells it with the revocation. */
  readonly onRevoked: (key: Uuid) => void
  /** The connection that hears was made, anew perhaps: what was said before may have been missed. */
  readonly onConnected: () => void
}

const nothing = { drain: [], ready: [], session: [], finished: [], timers: false } as const
const channel = 'duly'
/** PostgreSQL takes 7,999 bytes a notification. */
const maxPayloadBytes = 7_000
const gatherMs = 3
const notify: Statement = { name: 'notify', text: `select pg_notify('${channel}', $1)` }

/**
 * Wake-ups between nodes by LISTEN/NOTIFY. Sent apart from the transactions that they tell of (a full notification queue
 * must not fail a commit), gathered for some ms, and only when somebody may listen. A hint that does not fit is left out.
 */
export class Signals {
  readonly #options: SignalsOptions
  readonly #pending: Record<ListHint, Set<string>> = {
    drain: new Set(),
    session: new Set(),
    ready: new Set(),
    finished: new Set(),
  }
  #timers = false
  #gathering: NodeJS.Timeout | null = null
  #client: pg.Client | null = null
  #stopping = new AbortController()
  #listening: Promise<void> | null = null

  constructor(options: SignalsOptions) {
    this.#options = options
  }

  start(): void {
    this.#stopping = new AbortController()
    this.#listening ??= this.#listen(this.#stopping.signal)
  }

  /** Says what was gathered and hears nothing more. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    const lastWords = this.#gathering ? this.#send() : null
    if (this.#gathering) clearTimeout(this.#gathering)
    this.#gathering = null
    await Promise.all([lastWords, this.#client?.end().catch(() => {})])
    await this.#listening
    this.#listening = null
  }

  publish(kind: ListHint, name: string): void {
    if (this.#options.others() === 0) return
    if (this.#pending[kind].size < 1_000) this.#pending[kind].add(name)
    this.#gather()
  }

  publishTimers(): void {
    if (this.#options.others() === 0) return
    this.#timers = true
    this.#gather()
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null
      void this.#send()
    }, gatherMs)
  }

  async #send(): Promise<void> {
    const payload = {
      n: this.#options.nodeId,
      drain: [] as string[],
      ready: [] as string[],
      session: [] as string[],
      finished: [] as string[],
    }
    let bytes = 100
    for (const kind of listHints) {
      for (const name of this.#pending[kind]) {
        bytes += name.length + 3
        if (bytes <= maxPayloadBytes) payload[kind].push(name)
      }
      this.#pending[kind].clear()
    }
    const timers = this.#timers
    this.#timers = false
    await this.#say({ ...payload, timers, joined: false })
  }

  /** A hint that is lost is found by the slow look. */
  async #say(hints: Hints & { readonly n: Uuid }): Promise<void> {
    await this.#options.database.query(notify, [JSON.stringify(hints)]).catch(() => {})
  }

  async #listen(stop: AbortSignal): Promise<void> {
    let pauseMs = 100
    while (!stop.aborted) {
      const ended = await this.#connect(stop).catch((error: unknown) => error as Error)
      if (stop.aborted) return
      if (!(ended instanceof Error)) pauseMs = 100
      this.#options.log.debug({ err: ended }, 'listener lost its connection; reconnecting')
      await this.#options.clock.sleep(pauseMs, stop)
      pauseMs = Math.min(pauseMs * 2, 5_000)
    }
  }

  async #connect(stop: AbortSignal): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      application_name: 'duly listener',
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
    })
    const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
    client.on('error', () => {})
    client.on('notification', (message) => this.#hear(message))
    try {
      await client.connect()
      await client.query(`listen ${channel}; listen ${revocations}`)
      this.#client = client
      this.#options.onConnected()
      void this.#say({ n: this.#options.nodeId, ...nothing, joined: true })
      if (!stop.aborted) await ended
    } finally {
      this.#client = null
      await client.end().catch(() => {})
    }
  }

  #hear({ channel: from, payload = '' }: pg.Notification): void {
    if (from === revocations) this.#options.onRevoked(payload)
    else this.#receive(payload)
  }

  #receive(text: string): void {
    try {
      // a node of the version before knows no `drain`
      const { n, ready, session, drain = [], finished, timers, joined } = JSON.parse(text) as Hints & { n: Uuid }
      if (n === this.#options.nodeId) return
      this.#options.onHints({ ready, session, drain, finished, timers, joined })
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a notification could not be read')
    }
  }
}
