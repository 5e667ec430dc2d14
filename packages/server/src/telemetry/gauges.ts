import type { Instruments } from './instruments.js'
import { LabelBound } from './label-bound.js'

/** Depth of one queue at the moment of a scrape. */
export interface QueueSample {
  readonly queue: string
  readonly depthByPriority: Readonly<Record<'high' | 'medium' | 'low', number>>
  /** Age of the oldest PENDING task in ms, by the store's clock; null when there is none. */
  readonly oldestAgeMs: number | null
}

/** Slots of the live sessions at the moment of a scrape. */
export interface SlotSample {
  readonly busy: number
  readonly total: number
}

/** Where gauges come from; each is asked at every scrape. One that fails leaves its gauges out of the answer, or as they were. */
export interface GaugeSources {
  readonly queues: () => Promise<readonly QueueSample[]>
  readonly slots: () => Promise<SlotSample>
  /** Dead letters by queue. */
  readonly letters: () => Promise<ReadonlyMap<string, number>>
  /** How many workflows run. */
  readonly workflows: () => Promise<number>
  /** How many timer partitions the node leads. */
  readonly led: () => number
}

/** A scrape waits this long for the store; then it shows what the node knows by itself, and the last figures of the store. */
const patienceMs = 2_000

/** What is asked for when somebody looks. */
export class Gauges {
  readonly #instruments: Instruments
  readonly #queues = new LabelBound()
  #sources: GaugeSources = {
    queues: async () => [],
    slots: async () => ({ busy: 0, total: 0 }),
    letters: async () => new Map(),
    workflows: async () => 0,
    led: () => 0,
  }

  constructor(instruments: Instruments) {
    this.#instruments = instruments
  }

  ask(sources: Partial<GaugeSources>): void {
    this.#sources = { ...this.#sources, ...sources }
  }

  /** Sets all gauges, as far as their sources answer in time. */
  async collect(): Promise<void> {
    this.#instruments.gauge('duly_partitions_led').set(this.#sources.led())
    const ofStore = [this.#collectQueues(), this.#collectSlots(), this.#collectLetters(), this.#collectWorkflows()]
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, patienceMs)
    })
    await Promise.race([Promise.all(ofStore), late]).finally(() => clearTimeout(timer))
  }

  /** Queues beyond the bound are summed up as `other`; the age of `other` is that of its oldest. */
  async #collectQueues(): Promise<void> {
    const depth = this.#instruments.gauge('duly_queue_depth')
    const oldest = this.#instruments.gauge('duly_queue_oldest_seconds')
    const samples = await this.#sources.queues().catch(() => [])
    depth.reset()
    oldest.reset()
    const ages = new Map<string, number>()
    for (const { queue: name, depthByPriority, oldestAgeMs } of samples) {
      const queue = this.#queues.of(name)
      for (const [priority, count] of Object.entries(depthByPriority)) depth.inc({ queue, priority }, count)
      ages.set(queue, Math.max(ages.get(queue) ?? 0, oldestAgeMs ?? 0))
    }
    for (const [queue, ageMs] of ages) oldest.set({ queue }, ageMs / 1_000)
  }

  async #collectLetters(): Promise<void> {
    const gauge = this.#instruments.gauge('duly_dead_letters')
    const letters = await this.#sources.letters().catch(() => new Map<string, number>())
    gauge.reset()
    for (const [queue, count] of letters) gauge.inc({ queue: this.#queues.of(queue) }, count)
  }

  async #collectWorkflows(): Promise<void> {
    const open = await this.#sources.workflows().catch(() => null)
    if (open !== null) this.#instruments.gauge('duly_workflows_open').set(open)
  }

  async #collectSlots(): Promise<void> {
    const sample = await this.#sources.slots().catch(() => null)
    if (sample === null) return
    this.#instruments.gauge('duly_worker_slots_busy').set(sample.busy)
    this.#instruments.gauge('duly_worker_slots_total').set(sample.total)
  }
}
