import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The part of V8's .cpuprofile that is read here; time in µs. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** Where a process spent its time, without what it called. */
export interface SelfTime {
  readonly where: string
  readonly ms: number
  readonly share: number
}

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Self times over all profiles of a folder (one a thread), idle time left out, largest first. */
export function selfTimes(folder: string, most: number): readonly SelfTime[] {
  const micros = new Map<string, number>()
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.cpuprofile'))) {
    addSelfTimes(JSON.parse(readFileSync(join(folder, name), 'utf8')) as CpuProfile, micros)
  }
  micros.delete('(idle)')
  const total = [...micros.values()].reduce((sum, value) => sum + value, 0)
  return [...micros]
    .sort(([, a], [, b]) => b - a)
    .slice(0, most)
    .map(([where, value]) => ({ where, ms: value / 1000, share: value / total }))
}

function addSelfTimes({ nodes, samples, timeDeltas }: CpuProfile, micros: Map<string, number>): void {
  const places = new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]))
  samples.forEach((id, index) => {
    const place = places.get(id) ?? '(unknown)'
    micros.set(place, (micros.get(place) ?? 0) + Math.max(0, timeDeltas[index + 1] ?? 0))
  })
}

function placeOf({ functionName, url, lineNumber }: CpuProfile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName
  const file = url.replace(`file://${root}`, '').replace(/^node_modules\//, '')
  return `${functionName || '(anonymous)'} ${file}:${lineNumber + 1}`
}

/** The list as text. */
export function profileTable(title: string, times: readonly SelfTime[]): string {
  const rows = times.map(
    ({ where, ms, share }) => `${(share * 100).toFixed(1).padStart(6)} %  ${ms.toFixed(0).padStart(7)} ms  ${where}`,
  )
  return [`\n${title}: where the time goes (self, idle apart)`, ...rows].join('\n')
}
