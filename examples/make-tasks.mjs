// Writes examples/tasks.jsonl: 1,000 tasks for examples/worker.mjs, the same ones for the same seed.
//   node examples/make-tasks.mjs [seed]
import { realpathSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const COUNT = 1_000
/** Imported, it writes nothing. */
const isStarted = process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)
const SEED = Number((isStarted ? process.argv[2] : undefined) ?? 2026)

const TENANTS = ['acme-corp', 'globex', 'initech', 'umbrella']
const PRIORITIES = ['high', 'medium', 'medium', 'low']
const TEMPLATES = ['onboarding-v2', 'invoice', 'password-reset']
const FILES = ['worker.mjs', 'make-tasks.mjs', 'handlers/send-email.mjs', 'handlers/hash-file.mjs', 'tasks.jsonl']

/** Uniform numbers in [0, 1) from a seed (mulberry32). */
function seeded(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const random = seeded(SEED)
const pick = (list) => list[Math.floor(random() * list.length)]
const chance = (share) => random() < share
/** A number in [from, to] with one decimal. */
const between = (from, to) => Math.round((from + random() * (to - from)) * 10) / 10

/** Each kind of task with its share of the whole. */
const KINDS = [
  { share: 0.5, make: email },
  { share: 0.2, make: () => ({ task_type: 'hash_file', payload: { path: pick(FILES) } }) },
  { share: 0.15, make: () => ({ task_type: 'fetch_url', payload: null }) },
  { share: 0.08, make: () => ({ task_type: 'flaky', payload: { failures: 2 }, ...quickRetries(3) }) },
  {
    share: 0.04,
    make: () => ({ task_type: 'always_fails', payload: { permanent: true, message: 'no such account' } }),
  },
  {
    share: 0.03,
    make: () => ({ task_type: 'always_fails', payload: { message: 'the service is gone' }, ...quickRetries(2) }),
  },
]

function email(index) {
  const to = `user-${index}@example.com`
  const queue = chance(0.5) ? { queue: 'email-queue' } : {}
  return {
    task_type: 'send_email',
    payload: { to, subject: `Message ${index}`, template_id: pick(TEMPLATES) },
    ...queue,
  }
}

function quickRetries(limit) {
  const backoff = pick(['fixed', 'linear', 'exponential'])
  return {
    max_retries: limit,
    retry_backoff: backoff,
    retry_jitter: pick(['none', 'full', 'equal']),
    retry_delay_seconds: between(0.2, 2),
  }
}

function kindOf(draw) {
  let sum = 0
  return (
    KINDS.find(({ share }) => {
      sum += share
      return draw < sum
    }) ?? KINDS[0]
  )
}

function task(index) {
  return {
    ...kindOf(random()).make(index),
    priority: pick(PRIORITIES),
    ...(chance(0.25) ? { delay_seconds: between(0.5, 20) } : {}),
    ...(chance(0.15) ? { idempotency_key: `example-${SEED}-${index}` } : {}),
    metadata: { tenant_id: pick(TENANTS), correlation_id: `req-${index}` },
  }
}

/** The lines of examples/tasks.jsonl. */
export function lines() {
  return Array.from({ length: COUNT }, (_, index) => JSON.stringify(task(index + 1)))
}

if (isStarted) {
  await writeFile(new URL('tasks.jsonl', import.meta.url), `${lines().join('\n')}\n`)
  console.log(`wrote ${COUNT} tasks (seed ${SEED})`)
}
