import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the checkout. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Made by tools, not written by us; the same as .gitignore. */
const made = new Set(['node_modules', 'dist', 'coverage', '.git', '.duly', 'results'])

/** One text file of the repository. */
export interface SourceFile {
  /** From the root, with `/` between its parts. */
  readonly path: string
  readonly text: string
}

/** Every written file below `folder` (from the root; '' is all) whose name ends in one of `endings`, sorted by path. */
export function filesUnder(folder: string, endings: readonly string[]): SourceFile[] {
  const found: string[] = []
  const walk = (directory: string) => {
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name)
      if (entry.isDirectory() && !made.has(entry.name)) walk(path)
      if (entry.isFile() && endings.some((ending) => entry.name.endsWith(ending))) found.push(path)
    }
  }
  const start = join(root, folder)
  if (existsSync(start)) walk(start)
  return found
    .map((path) => ({ path: relative(root, path).split(sep).join('/'), text: readFileSync(path, 'utf8') }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** A file of the repository as parsed JSON. */
export function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as T
}
