import { openSync, readSync } from 'node:fs'

/** What a server says of its event loop, ms: how long it was away from it at most since it was asked last. */
export interface LoopStall {
  /** By the clock, with what others on the machine took meanwhile. */
  readonly mostMs: number
  /** By the CPU time of its main thread. */
  readonly mostCpuMs: number
}

const everyMs = 2
const text = Buffer.alloc(128)

/** CPU time of this process's main thread so far, ms (`schedstat` of proc(5)). */
function cpuOfMainThread(file: number): number {
  const [nanoseconds = ''] = text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)).split(' ')
  return Number(nanoseconds) / 1e6
}

/** Looks at each turn how long the turn before took, and answers each message with the longest since the last one. */
function watch(send: (stall: LoopStall) => void): void {
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  let last = { at: performance.now(), cpu: cpuOfMainThread(file) }
  let most = { mostMs: 0, mostCpuMs: 0 }
  const look = (): void => {
    const now = { at: performance.now(), cpu: cpuOfMainThread(file) }
    const { mostMs, mostCpuMs } = most
    most = { mostMs: Math.max(mostMs, now.at - last.at), mostCpuMs: Math.max(mostCpuMs, now.cpu - last.cpu) }
    last = now
  }
  setInterval(look, everyMs).unref()
  process.on('message', () => {
    look()
    send(most)
    most = { mostMs: 0, mostCpuMs: 0 }
  })
  process.channel?.unref()
}

// loaded into a server before its program
if (process.send !== undefined) watch((stall) => void process.send?.(stall))
