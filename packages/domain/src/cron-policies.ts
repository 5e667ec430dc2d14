/** What a firing does while an earlier task of the same definition is unfinished. */
export const overlapPolicies = ['skip', 'queue', 'cancel_running'] as const
/** What a firing does while an earlier task of the same definition is unfinished. */
export type OverlapPolicy = (typeof overlapPolicies)[number]

/** Where a recurring task stands. ENDED: nothing more will come, by `ends_at` or by the calendar. */
export const cronStatuses = ['ACTIVE', 'PAUSED', 'ENDED'] as const
/** Where a recurring task stands. */
export type CronStatus = (typeof cronStatuses)[number]

/** What became of one fire time. `fired` and `triggered` made a task; the others say why there is none. */
export const firingOutcomes = ['fired', 'triggered', 'skipped_overlap', 'skipped_misfire'] as const
/** What became of one fire time. */
export type FiringOutcome = (typeof firingOutcomes)[number]
