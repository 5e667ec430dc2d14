import { describe, expect, it } from 'vitest'
import { filesUnder } from './files.js'
import { importViolations } from './imports.js'
import { rooms } from './rooms.js'

const sources = filesUnder('packages', ['.ts', '.js', '.mjs']).filter(({ path }) =>
  /^packages\/[^/]+\/(src|bin)\//.test(path),
)

describe('imports run one way', () => {
  it('in every source file', () => {
    expect(sources.length).toBeGreaterThan(20)
    expect(importViolations(sources)).toEqual([])
  })

  it('through rooms that the table knows', () => {
    const names = new Set(rooms.map(({ name }) => name))
    expect(names.size).toBe(rooms.length)
    expect(rooms.flatMap(({ imports }) => imports).filter((name) => !names.has(name))).toEqual([])
  })
})

describe('the checker of imports', () => {
  const look = (path: string, text: string) => importViolations([{ path, text }])

  it.each([
    ['packages/domain/src/retry.ts', "import { Pool } from 'pg'", /domain may use the packages/],
    ['packages/domain/src/retry.ts', "import { readFile } from 'node:fs/promises'", /domain may use the packages/],
    [
      'packages/contract/src/task.ts',
      "export { startNode } from '@duly/server'",
      /contract may import domain, not server/,
    ],
    [
      'packages/sdk/src/client.ts',
      "import type { TaskStatus } from '@duly/domain'",
      /sdk may import names, not domain/,
    ],
    [
      'packages/server/src/intake/group.ts',
      "import { routes } from '../api/routes.js'",
      /intake may import .*, not api/,
    ],
    ['packages/server/src/intake/group.ts', "const pg = await import('pg')", /intake may use the packages/],
    [
      'packages/server/src/api/routes.ts',
      "import { database } from '../store/database.js'",
      /api may import .*, not store/,
    ],
    [
      'packages/server/src/api/routes.ts',
      "type T = import('../store/database.js').Database",
      /api may import .*, not store/,
    ],
    ['packages/server/src/api/routes.ts', "import { Duly } from '@duly/sdk'", /api may import .*, not sdk/],
    ['packages/duly/src/main.ts', "import { schemas } from '@duly/contract'", /duly may import .*, not contract/],
    ['packages/domain/src/retry.ts', "import { Clock } from '@duly/domain'", /write it from this file/],
    ['packages/server/src/attic/old.ts', '', /belongs to no room/],
  ])('refuses in %s: %s', (path, text, message) => {
    expect(look(path, text)).toEqual([expect.stringMatching(message)])
  })

  it.each([
    ['packages/contract/src/task.ts', "import { limits } from '@duly/domain'"],
    ['packages/server/src/api/routes.ts', "import type { Services } from '../model.js'"],
    ['packages/server/src/api/validate.ts', "import { nearestName } from '@duly/sdk/nearest-name'"],
    ['packages/server/src/intake/group.ts', "import { Later } from './later.js'"],
    ['packages/server/src/api/routes.test.ts', "import { database } from '../store/database.js'"],
  ])('admits in %s: %s', (path, text) => {
    expect(look(path, text)).toEqual([])
  })
})
