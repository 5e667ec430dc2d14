/**
 * A broken promise that the checker saw. `point` is its place in the checker's list: 1 what was accepted is there, once;
 * 2 leases never overlap and the last one wins; 3 one end per run; 5 one task per fire time, and none missing;
 * 6 the nodes of a workflow run and end as its graph says; 7 nothing is stranded;
 * 8 nothing ugly reached people.
 */
export interface Finding {
  readonly point: 1 | 2 | 3 | 5 | 6 | 7 | 8
  readonly rule: string
  /** The task, mark, process or lane that it is about. */
  readonly subject: string
  readonly detail: string
}

/** Findings as lines for a failing test, at most 40 of them. */
export function describeFindings(findings: readonly Finding[]): string {
  const lines = findings.slice(0, 40).map((each) => `(${each.point}) ${each.rule}: ${each.subject}: ${each.detail}`)
  if (findings.length > lines.length) lines.push(`… and ${findings.length - lines.length} more`)
  return lines.join('\n')
}
