import { randomFillSync } from 'node:crypto'
import { IdMinter, systemClock } from '@duly/domain'
import pg from 'pg'
import { pino } from 'pino'
import { assemble, type NodeParts } from '../../packages/server/src/node/assemble.js'
import { resolveConfig } from '../../packages/server/src/node/config.js'
import { Database } from '../../packages/server/src/store/database.js'
import { NodeStore } from '../../packages/server/src/store/node-store.js'
import { StoreClock } from '../../packages/server/src/store/store-clock.js'
import { type Faults, faultyClient } from '../../packages/server/src/testing/faulty-client.js'
import { createDatabase } from '../support/database.js'
import { persistently } from '../support/persistently.js'

const none: Faults = () => null
const nodeId = '0198c0de-0000-7000-8000-000000000000'

/**
 * All parts of a node, wired as the program wires them, on a database of its own that fails as it is told. Its duties do
 * not run by themselves: a test decides when a pass takes place.
 */
export class FaultyNode {
  readonly parts: NodeParts
  readonly url: string
  /** A pool of the test's own, without faults. */
  readonly #admin: pg.Pool
  readonly #drop: () => Promise<void>
  /** What the node's statements meet. */
  faults: Faults = none

  private constructor(url: string, drop: () => Promise<void>) {
    this.#drop = drop
    this.url = url
    this.#admin = new pg.Pool({ connectionString: url, max: 2 })
    const config = resolveConfig({ flags: { databaseUrl: url, port: 0, open: true, logLevel: 'silent' } })
    const { hotConnections, generalConnections, statementTimeoutMs, partitions } = config
    const database = new Database({
      ...{ url, hotConnections, generalConnections, statementTimeoutMs, applicationName: 'duly', onError: () => {} },
      Client: faultyClient((statement) => this.faults(statement)),
    })
    const storeClock = new StoreClock(database, systemClock)
    const minter = new IdMinter({
      nowMs: () => storeClock.nowMs(),
      random: (bytes) => void randomFillSync(bytes),
      partitions,
    })
    const membership = { database, nodes: new NodeStore(database), storeClock, minter, id: nodeId, number: 0 }
    this.parts = assemble(config, membership, pino({ level: 'silent' }))
  }

  static async open(): Promise<FaultyNode> {
    const { url, drop } = await createDatabase()
    const node = new FaultyNode(url, drop)
    const { storeClock, nodes } = node.parts.membership
    await persistently(() => storeClock.sync())
    await persistently(() => nodes.join(nodeId, ['api', 'scheduler'], 'test'))
    return node
  }

  /** Connections without faults. */
  get client(): pg.Pool {
    return this.#admin
  }

  /** One statement without faults. */
  async query<R extends object = Record<string, unknown>>(text: string, values: readonly unknown[] = []): Promise<R[]> {
    return (await this.#admin.query<R>(text, [...values])).rows
  }

  async close(): Promise<void> {
    this.faults = none
    await this.parts.membership.database.close()
    await this.#admin.end()
    await this.#drop()
  }
}
