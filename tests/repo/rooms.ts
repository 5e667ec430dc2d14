/**
 * Who may import whom. Imports run one way: api → services → ports → domain; only the composition root makes concrete
 * things. A file belongs to the room with the longest path that it begins with.
 */
export interface Room {
  readonly name: string
  /** Beginnings of paths from the root. */
  readonly paths: readonly string[]
  /** Rooms beside itself. */
  readonly imports: readonly string[]
  /** Packages from npm, and `node:` for anything of Node (`node:crypto`: that module alone). */
  readonly packages: readonly string[]
}

const server = 'packages/server/src'

/** What everything in the server may build on. */
const ground = ['base', 'model', 'domain']

/** A service: its rules, over the themes of the store and the ports. It knows no driver. */
function service(name: string, imports: readonly string[]): Room {
  return {
    name,
    paths: [`${server}/${name}/`],
    imports: ['store', 'ports', ...imports, ...ground],
    packages: ['node:', 'pino'],
  }
}

const services: readonly Room[] = [
  service('dispatch', []),
  // A new or due task can go straight to a waiting worker.
  service('intake', ['dispatch']),
  service('timers', ['dispatch']),
  // Recurring tasks: their definitions, and the firing of what is due.
  service('cron', []),
  // The watchdog ends attempts as a report does.
  service('upkeep', ['dispatch']),
  service('tasks', []),
  // Operations on many tasks.
  service('bulk', []),
  // Graphs of tasks: their submission, and what the ends of their tasks bring about. What becomes ready can go straight to a waiting worker.
  service('workflows', ['dispatch']),
  // Who calls, by the key shown.
  service('access', []),
  // What tasks did, counted by those who did it.
  service('stats', []),
]

export const rooms: readonly Room[] = [
  // The wire and the rules.
  { name: 'domain', paths: ['packages/domain/src/'], imports: [], packages: [] },
  { name: 'contract', paths: ['packages/contract/src/'], imports: ['domain'], packages: ['typebox'] },
  { name: 'sdk', paths: ['packages/sdk/src/'], imports: ['names'], packages: ['node:'] },
  // Which name a misspelt one was meant for: at home in the SDK, which depends on nothing, and asked for options, flags and fields alike.
  { name: 'names', paths: ['packages/sdk/src/nearest-name.ts'], imports: [], packages: [] },

  // The server, from its edge to its core.
  {
    name: 'api',
    paths: [`${server}/api/`],
    imports: ['telemetry', 'model', 'contract', 'domain', 'names'],
    packages: ['node:', 'fastify', 'ajv', 'typebox'],
  },
  ...services,
  { name: 'ports', paths: [`${server}/queue/port.ts`], imports: ['model', 'domain'], packages: [] },
  // PostgreSQL: the store by themes, and the ready queue that is made of its indexes.
  {
    name: 'store',
    paths: [`${server}/store/`, `${server}/queue/postgres/`],
    imports: ['ports', ...ground],
    packages: ['node:', 'pg'],
  },
  { name: 'coordination', paths: [`${server}/coordination/`], imports: ['store', ...ground], packages: ['pg', 'pino'] },
  {
    name: 'telemetry',
    paths: [`${server}/telemetry/`],
    imports: ['contract', ...ground],
    packages: ['node:', 'pino', 'prom-client'],
  },
  { name: 'base', paths: [`${server}/base/`], imports: ['domain'], packages: ['node:', 'pino'] },
  { name: 'model', paths: [`${server}/model.ts`, `${server}/model/`], imports: ['domain'], packages: [] },

  // What reads the configuration and makes concrete things, and what it is reached through.
  {
    name: 'node',
    paths: [`${server}/node.ts`, `${server}/node/`],
    imports: ['api', ...services.map(({ name }) => name), 'coordination', 'store', 'ports', 'telemetry', ...ground],
    packages: ['node:', 'pino', 'pg', 'fastify'],
  },
  // What a test kit needs of the engine: a node on a store whose time is moved.
  {
    name: 'kit',
    paths: [`${server}/kit/`],
    imports: ['node', 'store', 'telemetry', ...ground],
    packages: ['node:', 'pg'],
  },
  { name: 'server', paths: [`${server}/index.ts`], imports: ['node', 'store', 'telemetry', 'model'], packages: [] },
  {
    name: 'duly',
    paths: ['packages/duly/src/', 'packages/duly/bin/'],
    imports: ['server', 'sdk', 'names', 'domain'],
    packages: ['node:', 'commander'],
  },
]

/** The room that a package's name leads to, or that of one of its entries. */
export const packageRooms: Readonly<Record<string, string>> = {
  '@duly/domain': 'domain',
  '@duly/contract': 'contract',
  '@duly/server': 'server',
  '@duly/sdk': 'sdk',
  '@duly/sdk/nearest-name': 'names',
  duly: 'duly',
}
