import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type Random, randomOf } from '../../../../tests/chaos/load/random.js'

/**
 * refused — there is no server to connect to.
 * lost_before — the connection breaks, and nothing was sent.
 * lost_after — the statement was done, and the connection breaks before its answer.
 * timeout_before — reported as timed out, and nothing was sent.
 * timeout_during — reported as timed out at once, while the server goes on with it.
 * timeout_after — done, but reported as timed out.
 * slow — done and answered, some ms late; a number says how many.
 * SQLSTATEs — PostgreSQL itself refuses in place of the statement, so that a transaction is aborted as it would be.
 */
export type Fault =
  | 'refused'
  | 'lost_before'
  | 'lost_after'
  | 'timeout_before'
  | 'timeout_during'
  | 'timeout_after'
  | 'slow'
  | number
  | '25006'
  | '40001'
  | '40P01'
  | '53100'
  | '53300'
  | '55P03'
  | '57014'
  | '57P01'

/** What happens to a statement, by its name (`connect`, `begin`, `commit` and `rollback` too); null: nothing. */
export type Faults = (statement: string) => Fault | null

const weights: Readonly<Record<Exclude<Fault & string, 'refused'>, number>> = {
  ...{ lost_before: 2, lost_after: 3, timeout_before: 2, timeout_during: 2, timeout_after: 3, slow: 3 },
  ...{ '25006': 1, '40001': 3, '40P01': 2, '53100': 1, '53300': 1, '55P03': 1, '57014': 1, '57P01': 1 },
}
/** A ROLLBACK is refused by no server, but its answer can be lost like any other. */
const rollbackWeights = { lost_before: 1, lost_after: 1, timeout_before: 1, timeout_during: 1, timeout_after: 1 }

/** Faults by a seed: the n-th statement of a name meets the same fate in every run, whatever runs beside it. */
export class FaultPlan {
  readonly #seed: string
  readonly #rate: number
  readonly #counts = new Map<string, number>()
  /** `statement#n fault at ms` since the beginning, in the order in which they were met. */
  readonly met: string[] = []
  readonly #beganMs = performance.now()

  /** @param rate how many of the statements meet a fault, 0 to 1 */
  constructor(seed: string, rate: number) {
    this.#seed = seed
    this.#rate = rate
  }

  next(statement: string): Fault | null {
    const count = (this.#counts.get(statement) ?? 0) + 1
    this.#counts.set(statement, count)
    const random = randomOf(`${this.#seed} ${statement} ${count}`)
    if (random.next() >= this.#rate) return null
    const fault = drawFault(statement, random)
    this.met.push(`${statement}#${count} ${fault} at ${Math.round(performance.now() - this.#beganMs)}`)
    return fault
  }
}

function drawFault(statement: string, random: Random): Fault {
  if (statement === 'connect') return 'refused'
  return statement === 'rollback' ? random.weighted(rollbackWeights) : random.weighted(weights)
}

type Done = (error: unknown, result?: pg.QueryResult) => void
type Query = string | pg.QueryConfig

/** The driver's client, with faults: for a `Database`'s option `Client`. */
export function faultyClient(faults: Faults): new () => pg.Client {
  return class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config)
      const send = super.query.bind(this) as (query: Query) => Promise<pg.QueryResult>
      const breakOff = (): void => void this.connection.stream.destroy()
      const query = (what: Query, ...rest: readonly unknown[]): Promise<pg.QueryResult> | undefined => {
        const answer = suffer(faults(nameOf(what)), { send: () => send(what), refuse: send, breakOff })
        const done = rest.find((value): value is Done => typeof value === 'function')
        if (!done) return answer
        void answer.then((result) => done(null, result), done)
        return undefined
      }
      const connect = (done: (error?: Error) => void): void => {
        if (faults('connect') !== 'refused') super.connect(done)
        else process.nextTick(done, Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }))
      }
      Object.assign(this, { query, connect })
    }
  }
}

function nameOf(query: Query): string {
  return typeof query === 'string' ? query : (query.name ?? query.text)
}

interface Ways {
  readonly send: () => Promise<pg.QueryResult>
  readonly refuse: (query: string) => Promise<pg.QueryResult>
  readonly breakOff: () => void
}

/** The driver's own words, which the product has to understand. */
const timedOut = () => new Error('Query read timeout')
const broken = () => new Error('Connection terminated unexpectedly')

async function suffer(fault: Fault | null, { send, refuse, breakOff }: Ways): Promise<pg.QueryResult> {
  if (typeof fault === 'number') {
    await delay(fault)
    return send()
  }
  switch (fault) {
    case null:
      return send()
    case 'slow':
      await delay(2)
      return send()
    case 'refused':
    case 'lost_before':
      breakOff()
      throw broken()
    case 'lost_after':
      await send()
      breakOff()
      throw broken()
    case 'timeout_before':
      throw timedOut()
    case 'timeout_during':
      void send().catch(() => {})
      throw timedOut()
    case 'timeout_after':
      await send()
      throw timedOut()
    case '57P01':
      return refuse('select pg_terminate_backend(pg_backend_pid())')
    default:
      return refuse(`do $$ begin raise exception 'a fault of the test' using errcode = '${fault}'; end $$`)
  }
}
