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
  /** Tasks whose log lines somebody waits for elsewhere. */
  readonly follow: readonly string[]
  /** Tasks, of those that are followed, whose handlers logged something. */
  readonly lines: readonly string[]
  /** Timers that are due soon were set elsewhere: the instant of the earliest, epoch ms by the store's clock; null: none. */
  readonly timers: number | null
  /** Timer partitions are free. */
  readonly freed: boolean
  /** A recurring task that is due soon was set elsewhere. */
  readonly cron: boolean
  /** A node listens from now on: it is to be told, too. */
  readonly joined: boolean
}

const listHints = ['drain', 'session', 'ready', 'finished', 'follow', 'lines'] as const
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

const noLists = { drain: [], ready: [], session: [], finished: [], follow: [], lines: [] } as const
const nothing = { ...noLists, timers: null, freed: false, cron: false } as const
/** What a node of the version before may leave out. */
type Newer = 'drain' | 'freed' | 'cron' | 'follow' | 'lines'
type Told = Omit<Hints, 'timers' | Newer> &
  Partial<Pick<Hints, Newer>> & { readonly n: Uuid; readonly timers: number | boolean | null }

const channel = 'duly'
/** PostgreSQL takes 7,999 bytes a notification. */
const maxPayloadBytes = 7_000
const gatherMs = 3
/** Ends are told so much later while many are: who waits for one has it by a look at the store as well. */
const gatherEndsMs = 20
/** A hint need not be on disk before it is sent: what it tells of is. */
const notify: Statement = {
  name: 'notify',
  text: `select set_config('synchronous_commit', 'off', true), pg_notify('${channel}', $1)`,
}

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
    follow: new Set(),
    lines: new Set(),
  }
  #timers: number | null = null
  #freed = false
  #cron = false
  #gathering: NodeJS.Timeout | null = null
  /** When what is gathered leaves, and when something last left (monotonic ms). */
  #sendsMs = 0
  #sentMs = Number.NEGATIVE_INFINITY
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
    this.#gather(kind === 'finished' ? this.#sentMs + gatherEndsMs : 0)
  }

  /** A timer for that instant was set here, which another node may have to know of; none given: there may be some. */
  publishTimer(atMs = 0): void {
    if (this.#options.others() === 0) return
    this.#timers = Math.min(this.#timers ?? Number.POSITIVE_INFINITY, atMs)
    this.#gather(0)
  }

  publishCron(): void {
    if (this.#options.others() === 0) return
    this.#cron = true
    this.#gather(0)
  }

  publishFreed(): void {
    if (this.#options.others() === 0) return
    this.#freed = true
    this.#gather(0)
  }

  /** Sends what is gathered in some ms, and not before an instant; what may leave earlier takes the rest along. */
  #gather(fromMs: number): void {
    const nowMs = this.#options.clock.monotonicMs()
    const atMs = Math.max(nowMs + gatherMs, fromMs)
    if (this.#gathering && this.#sendsMs <= atMs) return
    if (this.#gathering) clearTimeout(this.#gathering)
    this.#sendsMs = atMs
    this.#gathering = setTimeout(() => {
      this.#gathering = null
      this.#sentMs = this.#options.clock.monotonicMs()
      void this.#send()
    }, atMs - nowMs)
  }

  async #send(): Promise<void> {
    const payload = {
      n: this.#options.nodeId,
      drain: [] as string[],
      ready: [] as string[],
      session: [] as string[],
      finished: [] as string[],
      follow: [] as string[],
      lines: [] as string[],
    }
    let bytes = 100
    for (const kind of listHints) {
      for (const name of this.#pending[kind]) {
        bytes += name.length + 3
        if (bytes <= maxPayloadBytes) payload[kind].push(name)
      }
      this.#pending[kind].clear()
    }
    const word = { ...payload, timers: this.#timers, freed: this.#freed, cron: this.#cron, joined: false }
    this.#timers = null
    this.#freed = false
    this.#cron = false
    await this.#say(word)
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
      const { n, timers, ...said } = JSON.parse(text) as Told
      if (n === this.#options.nodeId) return
      // a node of the version before leaves some hints out, and says of timers only that there are some
      const atMs = typeof timers === 'boolean' ? (timers ? 0 : null) : timers
      this.#options.onHints({ ...nothing, ...said, timers: atMs })
    } catch (error) {
      this.#options.log.warn({ err: error }, 'a notification could not be read')
    }
  }
}
