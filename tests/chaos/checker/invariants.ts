import { readFileSync } from 'node:fs'
import type { ClientBase } from 'pg'
import type { Finding } from './finding.js'

/** One query of `invariants.sql`: the rows that it gives are violations. */
export interface Invariant {
  readonly name: string
  /** Holds only when nothing is in flight. */
  readonly atRest: boolean
  readonly sql: string
}

const FILE = new URL('./invariants.sql', import.meta.url)
const SHOWN = 10

export const invariants: readonly Invariant[] = readFileSync(FILE, 'utf8')
  .split(/^-- invariant: /m)
  .slice(1)
  .map(parse)

function parse(text: string): Invariant {
  const [name = '', ...lines] = text.split('\n')
  const sql = lines
    .filter((line) => !line.startsWith('--'))
    .join('\n')
    .trim()
    .replace(/;$/, '')
  return { name, atRest: lines.includes('-- at rest'), sql }
}

/** Point 7 and the store's side of the others: asks all invariants; those for a store at rest only if it is. */
export async function checkInvariants(client: ClientBase, { atRest = true } = {}): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const invariant of invariants.filter((each) => atRest || !each.atRest)) {
    const { rows } = await client.query<{ subject: string; detail: string }>(
      `select * from (${invariant.sql}) as v limit ${SHOWN}`,
    )
    findings.push(...rows.map(({ subject, detail }): Finding => ({ point: 7, rule: invariant.name, subject, detail })))
  }
  return findings
}
