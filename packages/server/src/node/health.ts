import type { Database, Statement } from '../store/database.js'

const probe: Statement = { name: 'probe', text: 'select 1' }
/** A probe that takes longer than this counts as failed: a balancer must hear soon. */
const patienceMs = 2_000

/** Can this node serve? Its store must answer; it must not be on its way out. */
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
    const answer = this.#database.query(probe).then(
      () => null,
      () => 'The database cannot be reached.',
    )
    return Promise.race([answer, late]).finally(() => clearTimeout(timer))
  }
}
