import type { Uuid } from '@duly/domain'
import type { Frame } from '../../store/retention/marks.js'
import type { Part } from '../../store/retention/parts.js'
import type { Range } from '../../store/retention/record-store.js'
import type { RetentionSession } from '../../store/retention/retention-session.js'
import { Interrupted, type Pace } from './pace.js'
import type { Rewriter } from './rewriter.js'

export interface RecordsOptions {
  readonly session: RetentionSession
  readonly rewriter: Rewriter
  readonly pace: Pace
  /** Tasks in one step. */
  readonly batch: number
  /** So many rows are removed one by one in any case: no rewrite pays for them. */
  readonly few: number
  readonly onRemoved: (tasks: number) => void
}

interface Found {
  readonly going: number
  readonly staying: number
}

/** Past days and months: looks at each once a day, and removes what can go in the cheaper of two ways. */
export class Records {
  readonly #options: RecordsOptions

  constructor(options: RecordsOptions) {
    this.#options = options
  }

  /** Is there a past day or month that was not looked at for a day, or a month to be made? */
  async isDue({ days }: Frame): Promise<boolean> {
    return (await this.#options.session.parts(days)).some((part) => isDue(part) || isDayOfOldMonth(part))
  }

  /** One that fails stops no other one; the first error comes out at the end. */
  async runOnce(frame: Frame): Promise<void> {
    const { session } = this.#options
    await session.rewrites.clear()
    const errors: unknown[] = []
    const attempt = async (work: () => Promise<void>): Promise<void> => {
      await work().catch((error: unknown) => {
        if (error instanceof Interrupted) throw error
        errors.push(error)
      })
    }
    const days = (await session.parts(frame.days)).filter(isDayOfOldMonth)
    for (const month of new Set(days.map((day) => day.month))) await attempt(() => this.#merge(month, frame))
    for (const part of (await session.parts(frame.days)).filter(isDue))
      await attempt(() => this.#removePast(part, frame))
    await session.marks.forgetLooks()
    if (errors.length > 0) throw errors[0]
  }

  /**
   * The rule: where more rows stay than go, they are removed one by one; where more go than stay, the survivors are copied
   * and the rest is dropped with its tables. Both cost what the smaller part costs.
   */
  async #removePast(part: Part, frame: Frame): Promise<void> {
    const { session, few, rewriter, onRemoved } = this.#options
    const { going, staying } = await this.#look(part, frame)
    if (staying === 0 || (going > few && going > staying)) {
      await rewriter.rewrite({ ...part, old: [part.suffix], cutoff: frame.cutoff })
      onRemoved(going)
    } else if (going > 0) await this.#removeRows(part, frame)
    await session.marks.markDone(`look ${part.suffix}`)
  }

  async #look(part: Range, { cutoff }: Frame): Promise<Found> {
    const { session, pace, batch } = this.#options
    let [going, staying] = [0, 0]
    for (let after: Uuid | null = part.lower; after !== null; ) {
      const from: Uuid = after
      const step = await pace.step(() => session.records.stepFinished(from, part.upper, { cutoff, limit: batch }))
      going += step.going.length
      staying += step.staying.length
      after = step.last
    }
    // open ones need no exact count: more of them than what can go decides
    const open = await session.records.countOpen(part, Math.max(1, going + 1 - staying))
    return { going, staying: staying + open }
  }

  async #removeRows(part: Part, { cutoff }: Frame): Promise<void> {
    const { session, pace, batch, onRemoved } = this.#options
    for (let after: Uuid | null = part.lower; after !== null; ) {
      const from: Uuid = after
      after = await pace.step(async () => {
        const { going, last } = await session.records.stepFinished(from, part.upper, { cutoff, limit: batch })
        if (going.length > 0) onRemoved(await session.records.remove(going, part, cutoff))
        return last
      })
    }
  }

  /**
   * The days of a month that is old as a whole become one partition; few rows are left of them. Some days at a time: what the
   * swap takes while all work waits grows with the partitions that it replaces.
   */
  async #merge(month: string, frame: Frame): Promise<void> {
    const { session, rewriter, onRemoved } = this.#options
    for (;;) {
      const parts = (await session.parts(frame.days)).filter((part) => part.month === month && part.isMonthOld)
      const days = parts.filter((part) => !part.isMonth)
      const [first, last] = [days[0], days[mergedAtOnce - 1] ?? days.at(-1)]
      if (!first || !last) break
      const isLast = days.length <= mergedAtOnce
      const range = { lower: first.monthLower, upper: isLast ? last.monthUpper : last.upper }
      const { going } = await this.#look(range, frame)
      const old = parts.filter((part) => part.isMonth || part.lower <= last.lower).map(({ suffix }) => suffix)
      await rewriter.rewrite({ ...range, suffix: month, old, cutoff: frame.cutoff })
      onRemoved(going)
    }
    await session.marks.markDone(`look ${month}`)
  }
}

/** Days that one swap makes part of their month. */
const mergedAtOnce = 7

const isDue = (part: Part): boolean => part.isPast && part.isDue
const isDayOfOldMonth = (part: Part): boolean => part.isMonthOld && !part.isMonth
