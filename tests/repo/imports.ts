import { posix } from 'node:path'
import ts from 'typescript'
import type { SourceFile } from './files.js'
import { packageRooms, type Room, rooms } from './rooms.js'

/** The room with the longest path that `path` begins with. */
function roomOf(path: string, table: readonly Room[] = rooms): Room | undefined {
  let best: { room: Room; length: number } | undefined
  for (const room of table) {
    for (const start of room.paths) {
      if (path.startsWith(start) && start.length > (best?.length ?? 0)) best = { room, length: start.length }
    }
  }
  return best?.room
}

/** What each import against the table is, and what to do; empty when all is well. Tests may import what they test. */
export function importViolations(files: readonly SourceFile[], table: readonly Room[] = rooms): string[] {
  return files.filter(({ path }) => !isTest(path)).flatMap((file) => violationsOf(file, table))
}

function isTest(path: string): boolean {
  return path.endsWith('.test.ts') || /\/(?:testing|test-support)\//.test(path)
}

function violationsOf(file: SourceFile, table: readonly Room[]): string[] {
  const room = roomOf(file.path, table)
  if (room === undefined) return [`${file.path} belongs to no room: name its room in tests/repo/rooms.ts`]
  return specifiersOf(file).flatMap((specifier) => {
    const reason = refusal({ room, path: file.path, specifier, table })
    return reason === null ? [] : [`${file.path} imports '${specifier}': ${reason}`]
  })
}

/** Every module that a file names: imports, exports from, dynamic imports, import types. */
function specifiersOf(file: SourceFile): string[] {
  return ts.preProcessFile(file.text, true, true).importedFiles.map(({ fileName }) => fileName)
}

interface Import {
  readonly room: Room
  readonly path: string
  readonly specifier: string
  readonly table: readonly Room[]
}

function refusal({ room, path, specifier, table }: Import): string | null {
  if (specifier.startsWith('.')) {
    // The source of what is imported: `bin/` starts the build of its package.
    const target = posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts').replace('/dist/', '/src/')
    return refusalOfRoom(room, roomOf(target, table)?.name ?? target)
  }
  const ours = packageRooms[specifier] ?? packageRooms[packageOf(specifier)]
  if (ours === room.name) return 'write it from this file'
  if (ours !== undefined) return refusalOfRoom(room, ours)
  return refusalOfPackage(room, specifier)
}

function refusalOfRoom(room: Room, target: string): string | null {
  if (target === room.name || room.imports.includes(target)) return null
  return `the room ${room.name} may import ${list(room.imports)}, not ${target}`
}

function refusalOfPackage(room: Room, specifier: string): string | null {
  const isNode = specifier.startsWith('node:')
  if (isNode && room.packages.includes('node:')) return null
  if (room.packages.includes(isNode ? specifier : packageOf(specifier))) return null
  return `the room ${room.name} may use the packages ${list(room.packages)}`
}

/** `@scope/name/deep` → `@scope/name`; `name/deep` → `name`. */
function packageOf(specifier: string): string {
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
}

function list(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.join(', ')
}
