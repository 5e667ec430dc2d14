import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

const ticksASecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

interface Times {
  readonly parent: number
  /** User and system time of the process with all its threads, in ticks. */
  readonly own: number
  /** The same of its children that ended and were waited for. */
  readonly reaped: number
}

/** /proc/<pid>/stat (proc(5)); null when the process is gone. */
function timesOf(pid: number): Times | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in brackets, may hold spaces; the state is the field after it.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const [, parent = 0] = fields
    const [user = 0, system = 0, reapedUser = 0, reapedSystem = 0] = fields.slice(11, 15)
    return { parent, own: user + system, reaped: reapedUser + reapedSystem }
  } catch {
    return null
  }
}

/** CPU time of a process so far, in µs; the resolution is a tick (10 ms on Linux). */
export function cpuOf(pid: number): number {
  return micros(timesOf(pid)?.own ?? 0)
}

/**
 * CPU time so far of a process and all that it started, in µs: what lives is read by itself, what ended is in its
 * parent's account.
 */
export function cpuOfTree(root: number): number {
  const all = new Map<number, Times>()
  for (const name of readdirSync('/proc')) {
    const pid = Number(name)
    const times = Number.isInteger(pid) ? timesOf(pid) : null
    if (times !== null) all.set(pid, times)
  }
  let ticks = 0
  const add = (pid: number) => {
    const times = all.get(pid)
    ticks += (times?.own ?? 0) + (times?.reaped ?? 0)
    for (const [child, { parent }] of all) if (parent === pid) add(child)
  }
  add(root)
  return micros(ticks)
}

/** CPU time of the whole machine so far, µs: worked by anyone (a hypervisor's theft counted), and in all. */
export function cpuOfMachine(): { readonly busy: number; readonly all: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  // user nice system idle iowait irq softirq steal; guest time is within user
  const fields = line.split(/\s+/).slice(1, 9).map(Number)
  const all = fields.reduce((sum, ticks) => sum + ticks, 0)
  const [, , , idle = 0, waiting = 0] = fields
  return { busy: micros(all - idle - waiting), all: micros(all) }
}

function micros(ticks: number): number {
  return (ticks * 1e6) / ticksASecond
}

/** Resident memory of a process in MB, now and at most so far. */
export function memoryOf(pid: number): { readonly nowMb: number; readonly mostMb: number } {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  const kilobytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1])
  return { nowMb: kilobytes('VmRSS') / 1024, mostMb: kilobytes('VmHWM') / 1024 }
}
