import { Worker as Thread } from 'node:worker_threads'
import type { ResolvedOptions } from '../client/options.js'
import { isDenial } from './api.js'
import type { FromThread, ToThread } from './beat-thread.mjs'
import type { Session } from './session.js'
import type { WireInstructions } from './wire.js'

const ENTRY = new URL('./beat-thread.mjs', import.meta.url)

/** Leases of attempts younger than this are not asked about: most end before an answer could come, ms. */
const ASK_ABOUT_AFTER_MS = 1_000

/** Delay before a thread that died is replaced, ms. */
const RESTART_AFTER_MS = 500

export interface HeartbeatThreadPorts {
  leasesOlderThan(ageMs: number, session: Session): readonly string[]
  instructed(session: Session, instructions: WireInstructions): void
  trouble(error: unknown): void
  /** A beat was answered. */
  answered(): void
  /** A beat got no answer, and why. */
  unanswered(reason: string): void
  lost(session: Session): void
}

/** The main thread's end of the heartbeat thread: gives it the session, answers its pings, passes on what it hears. */
export class HeartbeatThread {
  readonly #options: ResolvedOptions
  readonly #ports: HeartbeatThreadPorts
  #thread: Thread | null = null
  #session: Session | null = null
  #isClosed = false

  constructor(options: ResolvedOptions, ports: HeartbeatThreadPorts) {
    this.#options = options
    this.#ports = ports
  }

  /** Beats for this session from now on, instead of an earlier one. */
  follow(session: Session): void {
    this.#session = session
    this.#thread ??= this.#spawn()
    this.#tell({ kind: 'session', session: { workerId: session.id, heartbeatMs: session.heartbeatMs } })
  }

  /** Ends the thread, however busy it is. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#session = null
    await this.#thread?.terminate()
    this.#thread = null
  }

  #spawn(): Thread {
    const { urls, apiKey, tls } = this.#options
    // Without the process's own flags: loaders and profilers do not belong here, and some (`--input-type`) forbid a thread.
    const thread = new Thread(ENTRY, { workerData: { urls, apiKey, tls }, name: 'duly-heartbeat', execArgv: [] })
    // The polls keep the process alive; the thread alone must not.
    thread.unref()
    thread.on('message', (message: FromThread) => this.#hear(message))
    thread.on('error', (error) => this.#ports.trouble(error))
    thread.on('exit', () => this.#replace(thread))
    return thread
  }

  #replace(thread: Thread): void {
    if (this.#isClosed || this.#thread !== thread) return
    setTimeout(() => {
      if (this.#isClosed) return
      this.#thread = null
      if (this.#session !== null) this.follow(this.#session)
    }, RESTART_AFTER_MS)
  }

  #hear(message: FromThread): void {
    const session = this.#session
    if (session === null) return
    if (message.kind === 'ping') {
      const leases = this.#ports.leasesOlderThan(ASK_ABOUT_AFTER_MS, session)
      this.#tell({ kind: 'pong', at: message.at, leases, received: session.received })
    } else if (message.workerId === session.id) this.#hearAbout(session, message)
  }

  /** What is said about an earlier session is void and does not come here. */
  #hearAbout(session: Session, message: Exclude<FromThread, { kind: 'ping' }>): void {
    if (message.kind === 'instructions') this.#ports.instructed(session, message.instructions)
    else if (message.kind === 'lost') this.#ports.lost(session)
    else if (message.kind === 'answered') {
      session.lease.renewed(message.sentAt)
      this.#ports.answered()
    } else {
      if (isDenial(message.status)) session.lease.denied()
      if (message.status === null) this.#ports.unanswered(message.message)
      this.#ports.trouble(new Error(message.message))
    }
  }

  #tell(message: ToThread): void {
    this.#thread?.postMessage(message)
  }
}
