import { Duly } from '../client/duly.js'
import type { WorkerOptions } from '../worker/options.js'
import { Worker } from '../worker/worker.js'
import { FakeBroker, type SessionTerms } from './fake-broker.js'

/** A broker, a client and the workers of one test; `close` ends them all. */
export class WorkerBench {
  readonly broker: FakeBroker
  readonly duly: Duly
  readonly #workers: Worker[] = []

  private constructor(broker: FakeBroker) {
    this.broker = broker
    this.duly = new Duly({ url: broker.url })
  }

  static async open(terms: Partial<SessionTerms> = {}): Promise<WorkerBench> {
    const broker = await FakeBroker.start()
    broker.terms = { ...broker.terms, ...terms }
    return new WorkerBench(broker)
  }

  worker(options: WorkerOptions = {}): Worker {
    const worker = new Worker(this.duly, { name: 'test', slots: 2, logger: null, ...options })
    this.#workers.push(worker)
    return worker
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop({ graceMs: 0 })))
    this.duly.close()
    await this.broker.stop()
  }
}

/** A promise that someone else settles. */
export interface Gate<T = void> {
  readonly promise: Promise<T>
  open(value: T): void
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => {}
  const promise = new Promise<T>((resolve) => {
    open = resolve
  })
  return { promise, open: (value) => open(value) }
}

/** A handler's wait that ends with its signal, as well-behaved code does. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
