/**
 * The heartbeat thread: keeps the session alive whatever the main thread is busy with, and hears at once what the server
 * has to say (its beats are held open). It has connections of its own; the main thread's end is `heartbeat-thread.ts`.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { createTransport } from '../transport/transport.mjs'
import { monotonicMs } from './monotonic.mjs'

/**
 * @typedef {{ workerId: string, heartbeatMs: number }} BeatSession
 * @typedef {{ kind: 'session', session: BeatSession }
 *   | { kind: 'pong', at: number, leases: readonly string[], received: number }} ToThread
 * @typedef {{ cancel: readonly { lease: string, reason: string }[], lost: readonly string[], drain: boolean }} Instructions
 * @typedef {{ kind: 'ping', at: number }
 *   | { kind: 'instructions', workerId: string, instructions: Instructions }
 *   | { kind: 'lost', workerId: string }
 *   | { kind: 'answered', workerId: string, sentAt: number }
 *   | { kind: 'trouble', workerId: string, message: string, status: number | null }} FromThread
 */

/** Longest wait for the main thread's answer to a ping, ms; a busy one is beaten for with what it said last. */
const PONG_WITHIN_MS = 250

/** Beats that may follow each other at once after news, refilled one a second: told twice, the server is no hot loop. */
const QUICK_BEATS = 5

/** Delays between beats that fail, ms. */
const RETRY_FLOOR_MS = 100
const RETRY_CAP_MS = 1_000

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort)
const transport = createTransport({ ...workerData, maxSockets: 2 })

/** @type {BeatSession | null} */
let session = null
/** @type {{ at: number, leases: readonly string[], received: number }} */
let latest = { at: 0, leases: [], received: 0 }
/** @type {(() => void) | null} */
let onPong = null
let lagMs = 0

port.on('message', (/** @type {ToThread} */ message) => {
  if (message.kind === 'session') {
    session = message.session
    latest = { at: 0, leases: [], received: 0 }
    void beatFor(message.session)
  } else {
    latest = message
    lagMs = performance.now() - message.at
    onPong?.()
  }
})

/** @param {FromThread} message */
function tell(message) {
  port.postMessage(message)
}

/**
 * Beats until another session takes over.
 * @param {BeatSession} mine
 */
async function beatFor(mine) {
  const quick = { left: QUICK_BEATS, at: performance.now() }
  let failures = 0
  while (session === mine) {
    await refresh()
    if (session !== mine) return
    const leftAt = performance.now()
    const outcome = await beat(mine)
    const wasHeld = performance.now() - leftAt >= mine.heartbeatMs / 2
    if (session !== mine) return
    if (outcome === 'lost') {
      session = null
      return tell({ kind: 'lost', workerId: mine.workerId })
    }
    failures = outcome === 'failed' ? failures + 1 : 0
    await sleep(failures > 0 ? retryDelay(failures) : wasHeld ? 0 : spacing(quick, mine))
  }
}

/** Asks the main thread for its leases, and measures how long it takes to answer. */
async function refresh() {
  const at = performance.now()
  tell({ kind: 'ping', at })
  const answered = await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), PONG_WITHIN_MS)
    onPong = () => {
      if (latest.at !== at) return
      clearTimeout(timer)
      resolve(true)
    }
  })
  onPong = null
  if (!answered) lagMs = Math.max(lagMs, performance.now() - Math.max(latest.at, at))
}

/**
 * @param {BeatSession} mine
 * @returns {Promise<'told' | 'lost' | 'failed'>}
 */
async function beat({ workerId, heartbeatMs }) {
  const body = JSON.stringify({
    received: latest.received,
    leases: latest.leases,
    wait_seconds: heartbeatMs / 1_000,
    lag_ms: Math.round(lagMs),
    rss_bytes: process.memoryUsage.rss(),
  })
  const path = `/api/v1/workers/${workerId}/heartbeat`
  const sentAt = monotonicMs()
  try {
    // Given up early enough for a second beat on a fresh connection within the lease (three heartbeats).
    const answer = await transport.send({ method: 'POST', path, body, timeoutMs: heartbeatMs * 1.6 })
    if (answer.status >= 300) return refused(workerId, answer)
    tell({ kind: 'answered', workerId, sentAt })
    const instructions = /** @type {Instructions} */ (JSON.parse(answer.body))
    if (instructions.cancel.length > 0 || instructions.lost.length > 0 || instructions.drain) {
      tell({ kind: 'instructions', workerId, instructions })
    }
    return 'told'
  } catch (error) {
    tell({ kind: 'trouble', workerId, message: error instanceof Error ? error.message : String(error), status: null })
    return 'failed'
  }
}

/**
 * @param {string} workerId
 * @param {import('../transport/transport.mjs').Answer} answer
 * @returns {'lost' | 'failed'}
 */
function refused(workerId, answer) {
  if (answer.status === 409 && answer.body.includes('"session_lost"')) return 'lost'
  tell({ kind: 'trouble', workerId, message: `the heartbeat was answered ${answer.status}`, status: answer.status })
  return 'failed'
}

/**
 * Delay after a beat that was answered before its time: none while there are quick beats left, and never so long that the
 * lease (three heartbeats) comes into danger.
 * @param {{ left: number, at: number }} quick
 * @param {BeatSession} session
 */
function spacing(quick, { heartbeatMs }) {
  const now = performance.now()
  quick.left = Math.min(QUICK_BEATS, quick.left + (now - quick.at) / 1_000)
  quick.at = now
  if (quick.left < 1) return Math.min(1_000, heartbeatMs)
  quick.left -= 1
  return 0
}

/** @param {number} failures */
function retryDelay(failures) {
  const ceiling = Math.min(RETRY_CAP_MS, RETRY_FLOOR_MS * 2 ** Math.min(failures, 10))
  return Math.max(RETRY_FLOOR_MS, Math.random() * ceiling)
}

/** @param {number} ms */
function sleep(ms) {
  return ms === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, ms))
}
