/** One level of the rollups: each is summed up from the one before. */
export interface Grain {
  readonly seconds: 60 | 600 | 3_600 | 21_600 | 86_400
  /** How long its rows are kept: past the longest window that reads them. */
  readonly keepMs: number
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** The finest first. */
export const grains: readonly Grain[] = [
  { seconds: 60, keepMs: 3 * hourMs },
  { seconds: 600, keepMs: 26 * hourMs },
  { seconds: 3_600, keepMs: 9 * dayMs },
  { seconds: 21_600, keepMs: 9 * dayMs },
  { seconds: 86_400, keepMs: 31 * dayMs },
]

/** A row is summed up anew for so long after its end: nodes keep ten minutes for a store that is away, and may write them yet. */
export const lateMs = 12 * minuteMs

/**
 * Sums are read in the place of their rows when they ended so long ago: every node that is well has written what it counted, and
 * it was summed up (nodes write every five seconds, a scheduler sums up every minute). What comes even later is missing until the
 * next sum, a minute at most.
 */
export const settledMs = 2 * minuteMs

/** Where windows of that length begin: at a whole minute, ten minutes or hour, so that few fine rows make up their edge. */
function edgeMs(windowMs: number): number {
  if (windowMs <= 2 * hourMs) return minuteMs
  return windowMs <= dayMs ? 10 * minuteMs : hourMs
}

/** Rows of one grain that begin in `[fromMs, toMs)`. */
export interface Segment {
  readonly seconds: number
  readonly fromMs: number
  readonly toMs: number
}

/**
 * The fewest rows that make up a window: the coarsest ones that fit, up to where each grain is summed up (`summedUntilMs`, by its
 * seconds) and settled.
 */
export function segmentsOf(
  windowMs: number,
  { nowMs, summedUntilMs }: { readonly nowMs: number; readonly summedUntilMs: ReadonlyMap<number, number> },
): readonly Segment[] {
  const edge = edgeMs(windowMs)
  const segments: Segment[] = []
  let atMs = Math.floor((nowMs - windowMs) / edge) * edge
  const fits = (grain: Grain): boolean => {
    const ms = grain.seconds * 1_000
    const untilMs = Math.min(summedUntilMs.get(grain.seconds) ?? Number.NEGATIVE_INFINITY, nowMs - settledMs)
    return atMs % ms === 0 && atMs + ms <= untilMs
  }
  while (atMs <= nowMs) {
    const { seconds } = grains.findLast(fits) ?? { seconds: 60 }
    const toMs = atMs + seconds * 1_000
    const last = segments.at(-1)
    if (last?.seconds === seconds) segments[segments.length - 1] = { ...last, toMs }
    else segments.push({ seconds, fromMs: atMs, toMs })
    atMs = toMs
  }
  return segments
}
