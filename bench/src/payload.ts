/** Everything that is sent stands in the queue that the benchmark's worker serves. */
export const queue = 'bench'
export const taskType = 'bench_task'

/** Digits of an instant: fixed, so that all bodies of one size have one length. */
const instantDigits = 20

/** One body with a gap for the instant of sending. All of it is ASCII: its length in bytes is its length. */
export interface Template {
  readonly before: string
  readonly after: string
}

/**
 * So many different task bodies whose payloads are `payloadBytes` long: an order as a shop would send it, with names,
 * numbers and many quotes, so that neither escaping nor compression is cheaper than in life.
 */
export function templates(count: number, payloadBytes: number, seed: number): readonly Template[] {
  const random = mulberry32(seed)
  return Array.from({ length: count }, () => template(payloadBytes, random))
}

/** A task as JSON, sent now by the machine's monotonic clock, which producer and worker share. */
export function taskJson({ before, after }: Template): string {
  return before + process.hrtime.bigint().toString().padStart(instantDigits, '0') + after
}

/** The nodes of a workflow and what each waits for: a start, three branches, two joins, their join, an end. */
const shape: readonly (readonly number[])[] = [[], [0], [0], [0], [1, 2], [2, 3], [4, 5], [6]]

/** Tasks of a workflow of the benchmark. */
export const workflowSize = shape.length

/** A workflow as JSON, of so many tasks as `task` gives. */
export function workflowJson(task: () => string): string {
  const nodes = shape.map((parents, index) => {
    const dependencies = parents.map((parent) => `"node-${parent}"`).join(',')
    return `{"task_id":"node-${index}","dependencies":[${dependencies}],${task().slice(1)}`
  })
  return `{"workflow_name":"bench","tasks":[${nodes.join(',')}]}`
}

function template(payloadBytes: number, random: () => number): Template {
  const items: object[] = []
  const customer = token(random, 10)
  const build = (note: string) => {
    const payload = { sent: '0'.repeat(instantDigits), customer, items, note }
    return JSON.stringify(payload)
  }
  while (build('').length < payloadBytes - 100) items.push(item(random))
  const payload = build(token(random, payloadBytes - build('').length))
  const task = `{"task_type":"${taskType}","queue":"${queue}","payload":${payload}}`
  const at = task.indexOf('"sent":"') + '"sent":"'.length
  return { before: task.slice(0, at), after: task.slice(at + instantDigits) }
}

function item(random: () => number): object {
  return {
    sku: token(random, 8),
    name: token(random, 12),
    quantity: Math.ceil(random() * 9),
    price: Math.trunc(random() * 1e5) / 100,
  }
}

function token(random: () => number, length: number): string {
  let text = ''
  while (text.length < length) text += Math.trunc(random() * 36 ** 6).toString(36)
  return text.slice(0, length)
}

/** A small seeded generator of numbers in [0, 1): Tommy Ettinger's mulberry32. */
function mulberry32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
