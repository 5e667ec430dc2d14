import { spawn } from 'node:child_process'

/** So much of what a command writes is kept, from its end: results are small. */
const KEPT_CHARS = 20_000

/**
 * Runs a command of a crontab, as cron does: by a shell, with what stood behind its `%` as input. It succeeds when it ends with 0. On a
 * time limit or a cancellation the shell and all that it started are told to end, and killed after 3 s.
 *
 * @param {{ command: string, stdin?: string }} payload
 * @param {{ signal: AbortSignal }} context
 */
export async function runCommand({ command, stdin = '' }, { signal }) {
  signal.throwIfAborted()
  // in a group of its own, so that a signal reaches what the shell started
  const child = spawn('/bin/sh', ['-c', command], { detached: true, stdio: 'pipe' })
  const stop = () => stopGroup(child)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const { code, killedBy, output } = await endOf(child, stdin)
    signal.throwIfAborted()
    if (code !== 0) throw new Error([`ended with ${killedBy ?? code}`, output.slice(-500)].filter(Boolean).join(': '))
    return { output }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** What it wrote and how it ended. */
function endOf(child, stdin) {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-KEPT_CHARS)
    })
  }
  // a command need not read its input
  child.stdin.on('error', () => {})
  child.stdin.end(stdin)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, killedBy) => resolve({ code, killedBy, output }))
  })
}

function stopGroup(child) {
  const send = (name) => {
    try {
      process.kill(-child.pid, name)
    } catch (error) {
      if (error.code !== 'ESRCH') throw error
    }
  }
  send('SIGTERM')
  const killing = setTimeout(send, 3_000, 'SIGKILL')
  child.once('close', () => clearTimeout(killing))
}
