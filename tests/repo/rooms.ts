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

const services = ['intake', 'dispatch', 'timers', 'upkeep', 'tasks', 'queues', 'workers']
const server = 'packages/server/src'

const service = (name: string): Room => ({
  name,
  paths: [`${server}/${name}/`],
  imports: ['ports', 'telemetry', 'model', 'domain'],
  packages: ['node:'],
})

export const rooms: readonly Room[] = [
  // The wire and the rules.
  { name: 'domain', paths: ['packages/domain/src/'], imports: [], packages: ['node:crypto'] },
  { name: 'contract', paths: ['packages/contract/src/'], imports: ['domain'], packages: ['typebox'] },
  { name: 'sdk', paths: ['packages/sdk/src/'], imports: [], packages: ['node:'] },

  // The server, from its edge to its core.
  {
    name: 'api',
    paths: [`${server}/api/`],
    imports: ['telemetry', 'model', 'contract', 'domain'],
    packages: ['node:', 'fastify', 'ajv', 'ajv-formats', 'pino'],
  },
  ...services.map(service),
  {
    name: 'ports',
    paths: [`${server}/queue/port.ts`, `${server}/store/port.ts`],
    imports: ['model', 'domain'],
    packages: [],
  },
  {
    name: 'store',
    paths: [`${server}/store/`],
    imports: ['ports', 'telemetry', 'model', 'domain'],
    packages: ['node:', 'pg'],
  },
  { name: 'queue', paths: [`${server}/queue/`], imports: ['ports', 'store', 'model', 'domain'], packages: ['node:'] },
  {
    name: 'telemetry',
    paths: [`${server}/telemetry/`],
    imports: ['domain'],
    packages: ['node:', 'pino', 'prom-client'],
  },
  { name: 'model', paths: [`${server}/model.ts`], imports: ['domain'], packages: [] },

  // What puts it together.
  {
    name: 'node',
    paths: [`${server}/node.ts`, `${server}/node/`],
    imports: ['api', ...services, 'ports', 'store', 'queue', 'telemetry', 'model', 'contract', 'domain'],
    packages: ['node:', 'pino'],
  },
  { name: 'server', paths: [`${server}/index.ts`], imports: ['node', 'store', 'telemetry', 'model'], packages: [] },
  {
    name: 'duly',
    paths: ['packages/duly/src/', 'packages/duly/bin/'],
    imports: ['server', 'sdk', 'domain'],
    packages: ['node:', 'commander'],
  },
]

/** The room that a package's name leads to. */
export const packageRooms: Readonly<Record<string, string>> = {
  '@duly/domain': 'domain',
  '@duly/contract': 'contract',
  '@duly/server': 'server',
  '@duly/sdk': 'sdk',
  duly: 'duly',
}
