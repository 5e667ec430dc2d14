import { facts } from '../cli/table.js'

export interface EmbeddedFacts {
  readonly port: number
  readonly pid: number
  readonly dataDir: string
  /** Holds the password of `databaseUrl`. It is told where, so that the secret stands in no log. */
  readonly passwordFile: string
}

/** What runs where, once `duly dev` is up. */
export interface DevFacts {
  readonly url: string
  /** Of the database, for another node or psql; without its password. */
  readonly databaseUrl: string
  /** Null when another PostgreSQL than the embedded one is used. */
  readonly postgres: EmbeddedFacts | null
  readonly worker: { readonly file: string; readonly pid: number; readonly mailDir: string } | null
}

/** The text for the person who started it: what runs where, and what to try. */
export function renderBanner({ url, databaseUrl, postgres, worker }: DevFacts): string {
  const at = url === 'http://127.0.0.1:7070' ? '' : ` --url ${url}`
  const runs = facts([
    ['  API', `${url}/api/v1`],
    ['  API docs', `${url}/docs`],
    ['  Metrics', `${url}/metrics`],
    [
      '  PostgreSQL',
      postgres
        ? `127.0.0.1:${postgres.port}, embedded (pid ${postgres.pid}), data in ${postgres.dataDir}`
        : 'yours (DULY_DATABASE_URL)',
    ],
    ['  Database', postgres ? `${databaseUrl}, password in ${postgres.passwordFile}` : databaseUrl],
    [
      '  Worker',
      worker
        ? `${worker.file} (pid ${worker.pid}), e-mails go to ${worker.mailDir}`
        : 'none: start one with `npx duly worker <file>`',
    ],
  ])
  const tries = worker
    ? [
        `npx duly task submit send_email --payload '{"to":"a@example.com"}' --wait${at}`,
        `npx duly task submit --file examples/tasks.jsonl --progress${at}`,
        `npx duly workflow submit examples/onboarding.json --wait${at}`,
      ]
    : [`npx duly task --help`]
  // node-postgres and psql alike take the password from the environment
  const secret = postgres ? `PGPASSWORD="$(cat '${postgres.passwordFile}')" ` : ''
  const more = postgres
    ? `A second node, or a look inside:\n  ${secret}npx duly serve --open --port 0 --database-url ${databaseUrl}\n  ${secret}psql ${databaseUrl}\n\n`
    : ''
  return `\nDuly is ready.\n\n${runs}\nTry in a second terminal:\n${tries.map((line) => `  ${line}\n`).join('')}\n${more}Ctrl-C stops everything.\n\n`
}
