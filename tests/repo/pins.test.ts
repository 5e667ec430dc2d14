import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { filesUnder, readJson, root } from './files.js'
import { downloadAddresses, type LockFile, loosePins, type Manifest } from './pins.js'

const manifests = filesUnder('', ['package.json']).map(({ path, text }) => ({
  path,
  manifest: JSON.parse(text) as Manifest,
}))
const lock = readJson<LockFile>('package-lock.json')

describe('packages', () => {
  it.each(manifests)('$path pins each dependency to one version and names its Node', ({ manifest }) => {
    expect(loosePins(manifest)).toEqual([])
    expect(manifest.engines?.node).toBe('>=20.19')
  })

  it('use one version of each dependency, the one that is locked', () => {
    const wanted = manifests.flatMap(({ path, manifest }) =>
      Object.entries({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }).map(
        ([name, version]) => ({ path, name, version, locked: lockedVersion(name) }),
      ),
    )
    expect(wanted.length).toBeGreaterThan(10)
    expect(wanted.filter(({ version, locked }) => version !== locked)).toEqual([])
  })

  it('are locked without addresses of a registry', () => {
    expect(Object.keys(lock.packages).length).toBeGreaterThan(50)
    expect(downloadAddresses(lock)).toEqual([])
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toContain('omit-lockfile-registry-resolved=true')
  })
})

function lockedVersion(name: string): string | undefined {
  const workspace = manifests.find(({ manifest }) => manifest.name === name)
  return workspace?.manifest.version ?? lock.packages[`node_modules/${name}`]?.version
}

describe('the checker of pins', () => {
  it.each([
    '^1.2.3',
    '~1.2.3',
    '1.2',
    '1.x',
    '*',
    '',
    'latest',
    '>=1.0.0',
    'workspace:*',
    'github:a/b',
    'npm:a@^1.0.0',
  ])('refuses %s', (version) => {
    expect(loosePins({ name: 'a', version: '1.0.0', devDependencies: { left: version } })).toEqual([`left: ${version}`])
  })

  it.each(['1.2.3', '18.4.0-beta.17', 'npm:@scope/name@1.2.3'])('admits %s', (version) => {
    expect(loosePins({ name: 'a', version: '1.0.0', optionalDependencies: { left: version } })).toEqual([])
  })

  it('refuses a download address and admits the link to a workspace', () => {
    const packages = {
      'node_modules/a': { version: '1.0.0', resolved: 'https://example.com/a-1.0.0.tgz' },
      'node_modules/b': { resolved: 'packages/b', link: true },
    }
    expect(downloadAddresses({ packages })).toEqual(['node_modules/a: https://example.com/a-1.0.0.tgz'])
  })
})
