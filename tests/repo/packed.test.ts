import { execFileSync } from 'node:child_process'
import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesUnder, readJson, root } from './files.js'

interface Packed {
  readonly name: string
  readonly files: readonly { readonly path: string }[]
}

type Exports = Readonly<Record<string, Readonly<Record<string, string>>>>

interface Manifest {
  readonly name: string
  readonly exports: Exports
  readonly bin?: Readonly<Record<string, string>>
}

const answer = execFileSync('npm', ['pack', '--dry-run', '--json', '--workspaces'], {
  cwd: root,
  encoding: 'utf8',
  stdio: ['ignore', 'pipe', 'ignore'],
})
// a list, or since npm 11 an object by name
const packed = Object.values(JSON.parse(answer) as Record<string, Packed>)

const folders = readJson<{ workspaces: string[] }>('package.json').workspaces

/** What the files of a package name beside themselves (`new URL('…', import.meta.url)`), where their builds look for it. */
function readAtRunTime(folder: string): string[] {
  const sources = filesUnder(`${folder}/src`, ['.ts', '.mts', '.mjs']).filter(
    ({ path }) => !/\.test\.ts$|\/(testing|test-support)\//.test(path),
  )
  return sources.flatMap(({ path, text }) => {
    const built = path.slice(folder.length + 1).replace(/^src\//, 'dist/')
    const named = [...text.matchAll(/new URL\('([^']+)', import\.meta\.url\)/g)].map((match) => match[1] ?? '')
    return named.map((name) => posix.normalize(posix.join(posix.dirname(built), name)))
  })
}

describe.each(folders)('%s as it is packed', (folder) => {
  const manifest = readJson<Manifest>(`${folder}/package.json`)
  const paths = packed.find(({ name }) => name === manifest.name)?.files.map(({ path }) => path) ?? []
  const holds = (path: string): boolean => paths.some((packedPath) => `${packedPath}/`.startsWith(`${path}/`))

  it('holds what it exports and starts', () => {
    const targets = [...Object.values(manifest.exports).flatMap(Object.values), ...Object.values(manifest.bin ?? {})]
    expect(targets.length).toBeGreaterThan(0)
    expect(targets.map((path) => posix.normalize(path)).filter((path) => !holds(path))).toEqual([])
  })

  it('holds what it reads while it runs', () => {
    const missing = readAtRunTime(folder).filter((path) => !holds(path))
    // the example worker is looked for in a checkout alone
    expect(missing).toEqual(folder === 'packages/duly' ? ['../../examples/worker.mjs'] : [])
  })

  it('holds no sources, no tests and no notes of the compiler', () => {
    expect(paths.filter((path) => /^src\/|\.test\.|tsbuildinfo/.test(path))).toEqual([])
  })
})

it('the server is packed with its migrations and the schema that they lead to', () => {
  const paths = packed.find(({ name }) => name === '@duly/server')?.files.map(({ path }) => path)
  expect(paths).toEqual(expect.arrayContaining(['migrations/0001_spine.sql', 'schema.golden.txt']))
  expect(readAtRunTime('packages/server')).toEqual(expect.arrayContaining(['migrations', 'schema.golden.txt']))
})
