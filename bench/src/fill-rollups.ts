import { LogHistogram } from '@duly/domain'

/** One level of the rollups, as the server's `stats/grains.ts` has them. */
interface Grain {
  readonly seconds: number
  readonly keepMs: number
}

export interface FillOptions {
  readonly grains: readonly Grain[]
  /** Names of each kind. */
  readonly names: number
  /** How far back. */
  readonly days: number
  /** Nodes that each wrote every name in every minute. */
  readonly writers: number
}

/** Rollups as busy nodes leave them: every name in every minute, with histograms of 40 filled buckets. Each row counts one start. */
export async function fillRollups(
  sql: (text: string, values: unknown[]) => Promise<unknown>,
  { grains, names, days, writers }: FillOptions,
): Promise<void> {
  const histogram = new LogHistogram()
  for (let bucket = 1; bucket <= 40; bucket++) {
    for (let n = 0; n < 200 - bucket; n++) histogram.add(2 ** (bucket / 4 - 0.1))
  }
  const bytes = Buffer.from(histogram.encode())
  const insert = `
    insert into stats_rollups
    select $1, k.kind, t.start, case k.kind when 'all' then '' else 'name-' || n end,
      ('00000000-0000-4000-8000-' || lpad(w::text, 12, '0'))::uuid, 1, 1, 1, 0, 0, 0, 0, 0, 0, $2, $2
    from generate_series(1, $3) n
    cross join (values ('all'), ('queue'), ('task_type'), ('tenant')) as k (kind)
    cross join generate_series(1, $4) w
    cross join lateral (
      select to_timestamp(floor((date_part('epoch', now()) - s) / $6) * $6) as start from generate_series(0, $5::integer, $6::integer) s
    ) t
    where $6 = 60 and (k.kind <> 'all' or n = 1) or t.start + $6 * interval '1 second' <= now() and (k.kind <> 'all' or n = 1)
    on conflict do nothing`
  for (const { seconds, keepMs } of grains) {
    const ago = Math.min(keepMs / 1_000, days * 86_400)
    const count = seconds === 60 ? writers : 1
    await sql(insert, [seconds, bytes, names, count, ago, seconds])
  }
}
