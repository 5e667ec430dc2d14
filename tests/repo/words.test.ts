import { describe, expect, it } from 'vitest'
import { filesUnder } from './files.js'

/** What no file of the repository says. Each pattern is written so that it doesn't match itself. */
const forbidden: readonly { readonly pattern: RegExp; readonly why: string }[] = [
  { pattern: /(?<![\w.~)}-])\/(?:work|root|farm|shared|home|Users)\/\w/, why: "a path of somebody's machine" },
  {
    pattern: /\bregistry\.[a-z]+\.(?:org|com)\b|\bdeb\.[a-z]+\.org\b/,
    why: 'the host of a package registry',
  },
  { pattern: /[@]ts-(?:ignore|nocheck)/, why: 'a silenced type check' },
  { pattern: /\b(?:biome|eslint|prettier)-(?:ignore|disable)/, why: 'a silenced lint rule' },
  { pattern: /\.(?:only|skip|todo)\(/, why: 'a test left out' },
  { pattern: /\b(?:TODO|FIXME|XXX)\b(?!\.)/, why: 'unfinished work' },
]

const endings = [
  '.ts',
  '.tsx',
  '.js',
  '.mjs',
  '.json',
  '.md',
  '.sql',
  '.yml',
  '.yaml',
  '.sh',
  'run',
  '.npmrc',
  '.jsonl',
]

function finds(path: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) =>
      forbidden
        .filter(({ pattern }) => pattern.test(line))
        .map(({ why }) => `${path}:${index + 1} has ${why}: ${line.trim().slice(0, 120)}`),
    )
}

describe('words', () => {
  it('that must not be here are nowhere', () => {
    const files = filesUnder('', endings)
    expect(files.length).toBeGreaterThan(40)
    expect(files.flatMap(({ path, text }) => (path === 'tests/repo/words.test.ts' ? [] : finds(path, text)))).toEqual(
      [],
    )
  })

  it.each([
    ['const folder = "/home/ada/duly"'],
    ['see /Users/ada/duly/README.md'],
    ['"resolved": "https://registry.' + 'example.org/a/-/a-1.0.0.tgz"'],
    ['// @ts-ignore: later'],
    ['// biome-ignore lint: later'],
    ["it.only('works', () => {})"],
    ["describe.skip('all', () => {})"],
    ['// TODO: finish'],
  ])('are found in: %s', (line) => {
    expect(finds('a.ts', line)).toHaveLength(1)
  })

  it.each([
    ['POST /api/v1/workers/{id}/poll'],
    ['GET /workers/x'],
    ['/proc/self/stat'],
    ['homework/1'],
    ['only(1)'],
    ['s.skips(1)'],
  ])('are not found in: %s', (line) => {
    expect(finds('a.ts', line)).toEqual([])
  })
})
