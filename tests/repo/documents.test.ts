import { describe, expect, it } from 'vitest'
import { filesUnder, readJson } from './files.js'

const decisions = filesUnder('docs/adr', ['.md'])
const page = (path: string): string => filesUnder('', ['.md']).find((file) => file.path === path)?.text ?? ''
const lines = (text: string): number => text.trimEnd().split('\n').length

describe('decisions', () => {
  it('are numbered without a gap, in the title as in the name', () => {
    expect(decisions.length).toBeGreaterThan(5)
    for (const [index, { path, text }] of decisions.entries()) {
      expect(path).toMatch(new RegExp(`/${String(index + 1).padStart(4, '0')}-[a-z0-9-]+\\.md$`))
      expect(text).toMatch(new RegExp(`^# ${index + 1}\\. `))
    }
  })

  it.each(decisions)('$path says context, decision, what was rejected and what follows, in 80 lines', ({ text }) => {
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(headings).toEqual(['Context', 'Decision', 'Rejected', 'Consequences'])
    expect(lines(text)).toBeLessThanOrEqual(80)
  })
})

describe('the index of the documentation', () => {
  it.each(['docs/guide', 'docs/reference'])('leads to every page of %s', (folder) => {
    const index = page('docs/README.md')
    const names = filesUnder(folder, ['.md']).map(({ path }) => path.slice('docs/'.length))
    expect(names.length).toBeGreaterThan(4)
    expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([])
  })
})

describe('the README', () => {
  it('is short', () => {
    expect(lines(page('README.md'))).toBeLessThanOrEqual(200)
  })
})

describe('the list of dependencies in ADR 11', () => {
  const text = decisions.find(({ path }) => path.includes('0011-'))?.text ?? ''
  const manifests = ['domain', 'contract', 'server', 'sdk', 'duly'].map((name) =>
    readJson<{ dependencies?: Record<string, string> }>(`packages/${name}/package.json`),
  )
  const wanted = new Map(manifests.flatMap(({ dependencies = {} }) => Object.entries(dependencies)))
  const named = new Map(
    [...text.matchAll(/^\| `([^`*]+)` ([\d.]+) \|/gm)].map(([, name = '', version = '']) => [name, version]),
  )

  it('names what the packages really have, in its version', () => {
    expect(named.size).toBeGreaterThan(5)
    for (const [name, version] of named) expect(wanted.get(name)?.startsWith(`${version}.`), name).toBe(true)
  })
})
