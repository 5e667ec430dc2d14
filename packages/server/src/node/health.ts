import type { Database, Statement } from '../store/database.js'

/** Takes no row and no lock, and is refused where writes are. */
const probe: Statement = { name: 'probe', text: 'select from store_marks where false for update' }
/** A probe that takes longer than this counts as failed: a balancer must hear soon. */
const patienceMs = 2_000

/** Can this node serve? Its store must answer on the hot path and take writes; it must not be on its way out. */
export class Health {
  readonly #database: Database
  #isLeaving = false

  constructor(database: Database) {
    this.#database = database
  }

  /** From now on `/readyz` says no, and connections are not kept alive. */
  leave(): void {
    this.#isLeaving = true
  }

  isLeaving = (): boolean => this.#isLeaving

  notReady = async (): Promise<string | null> => {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve('The database does not answer in time.'), patienceMs)
    })
    const answer = this.#database.hot(probe, []).then(() => null, whyNot)
    return Promise.race([answer, late]).finally(() => clearTimeout(timer))
  }
}

function whyNot(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null
  const isReadOnly = cause instanceof Error && 'code' in cause && cause.code === '25006'
  return isReadOnly
    ? 'The database takes no writes: it is a standby, or set to read only.'
    : 'The database cannot be reached.'
}
