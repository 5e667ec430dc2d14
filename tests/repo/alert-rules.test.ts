import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from './files.js'

const text = readFileSync(join(root, 'deploy', 'prometheus', 'duly.rules.yml'), 'utf8')
const rules = text
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((rule) => ({ name: rule.split('\n', 1)[0] ?? '', rule }))

/** Metrics with their kinds and labels, as the reference page has them. */
const metrics = new Map(
  [
    ...readFileSync(join(root, 'docs', 'reference', 'metrics.md'), 'utf8').matchAll(
      /^\| `(duly_\w+)` \| (\w+) \| ([^|]*) \|/gm,
    ),
  ].map(([, name = '', kind = '', labels = '']) => [
    name,
    { kind, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label) },
  ]),
)

/** What stands in an expression for a metric: histograms have three. */
function metricOf(name: string) {
  const base = name.replace(/_(bucket|sum|count)$/, '')
  const found = metrics.get(name) ?? metrics.get(base)
  return found && (found.kind === 'histogram') === (base !== name) ? found : undefined
}

describe('the rules for Prometheus', () => {
  it('are the alerts that the operator is promised', () => {
    expect(rules.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['DulyDeadLetters', 'DulyCronLate', 'DulyWorkflowsFail']),
    )
    expect(new Set(rules.map(({ name }) => name)).size).toBe(rules.length)
  })

  it.each(rules)('$name asks for metrics and labels that there are, and says what to do', ({ rule }) => {
    const expression = rule.slice(rule.indexOf('expr:'), rule.search(/^ {8}(for|labels):/m))
    const names = [...expression.matchAll(/duly_\w+/g)].map(([name]) => name)
    expect(names.length).toBeGreaterThan(0)
    expect(names.filter((name) => metricOf(name) === undefined)).toEqual([])
    const known = new Set(names.flatMap((name) => metricOf(name)?.labels ?? []))
    const grouped = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '))
    const matched = [...expression.matchAll(/(\w+)=~?"/g)].map(([, label = '']) => label)
    const told = [...rule.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label)
    expect([...grouped, ...matched].filter((label) => label !== 'le' && !known.has(label))).toEqual([])
    // a label that was not grouped by is not there to be told
    expect(told.filter((label) => !grouped.includes(label))).toEqual([])
    expect(rule).toMatch(/severity: (critical|warning)/)
    expect(rule).toMatch(/summary: (['"]).+\1\n +action: (['"]).+\2/)
    expect(existsSync(join(root, /page: (\S+)/.exec(rule)?.[1] ?? 'none'))).toBe(true)
  })
})
