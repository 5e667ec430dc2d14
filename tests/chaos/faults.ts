import { setTimeout as delay } from 'node:timers/promises'
import type { TestProcess } from '../support/test-process.js'
import type { Random } from './load/random.js'
import type { Scenario } from './scenario.js'

/** A lease of 3 s: losses come and go within a test. */
export const QUICK = { DULY_CHAOS_HEARTBEAT_MS: '1000' }
/** Some pauses of workers are shorter than such a lease, some longer. */
const PAUSE_MS = [300, 6_000] as const
/** Some of nodes are shorter than a node's lease, some longer. */
const FREEZE_MS = [500, 9_000] as const

/** Workers, each of which is started again whenever it ends, until all are told to stop. */
export class KeptWorkers {
  readonly #scenario: Scenario
  readonly #workers: TestProcess[] = []
  readonly #keepers: Promise<void>[]
  #isOver = false

  /** @param urls where each of them finds the servers; several addresses with commas */
  constructor(scenario: Scenario, urls: readonly (() => string)[]) {
    this.#scenario = scenario
    this.#keepers = urls.map((url, index) => this.#keep(url, index))
  }

  /** One of them is killed, or frozen for a while. */
  async hit(random: Random): Promise<void> {
    const worker = random.pick(this.#workers)
    if (random.next() < 0.4) {
      worker.signal('SIGKILL')
      return
    }
    worker.signal('SIGSTOP')
    await delay(random.between(...PAUSE_MS))
    worker.signal('SIGCONT')
  }

  async stop(): Promise<void> {
    this.#isOver = true
    for (const worker of this.#workers) worker.signal('SIGTERM')
    await Promise.all(this.#keepers)
  }

  async #keep(url: () => string, index: number): Promise<void> {
    while (!this.#isOver) {
      const worker = this.#scenario.addWorker(QUICK, url())
      this.#workers[index] = worker
      await worker.exited
    }
  }
}

/** A server dies at once, and is started again after a while. */
export async function killServer(scenario: Scenario, index: number, random: Random): Promise<void> {
  await scenario.serverAt(index).kill('SIGKILL')
  await delay(random.between(0, 2_000))
  await scenario.restartServer(index)
}

/** A server stands still for a while, whatever it holds. */
export async function freezeServer(scenario: Scenario, index: number, random: Random): Promise<void> {
  scenario.serverAt(index).signal('SIGSTOP')
  await delay(random.between(...FREEZE_MS))
  scenario.serverAt(index).signal('SIGCONT')
}
