import { facts } from '../cli/table.js'

/** What runs where, once `duly dev` is up. */
export interface DevFacts {
  readonly url: string
  /** Null when another PostgreSQL than the embedded one is used. */
  readonly postgres: { readonly port: number; readonly pid: number; readonly dataDir: string } | null
  readonly worker: { readonly file: string; readonly pid: number; readonly mailDir: string } | null
}

/** The text for the person who started it: what runs where, and what to try. */
export function renderBanner({ url, postgres, worker }: DevFacts): string {
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
      ]
    : [`npx duly task --help`]
  return `\nDuly is ready.\n\n${runs}\nTry in a second terminal:\n${tries.map((line) => `  ${line}\n`).join('')}\nCtrl-C stops everything.\n\n`
}
