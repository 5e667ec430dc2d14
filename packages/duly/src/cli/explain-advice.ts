import type { CauseCode } from '@duly/domain'
import type { Cause, Explanation } from '@duly/sdk'

/** What helps against a cause; null: nothing, or nothing needs to be done. */
type Advice = (cause: Cause, task: Pick<Explanation, 'id' | 'status'>) => string | null

const nothing: Advice = () => null
const sooner: Advice = (_, { id }) => `to start it now: \`duly task edit ${id} --scheduled-at now\``
const lookAtWorkers: Advice = () => 'see who is there: `duly worker list`'
const again: Advice = (_, { id }) => `run it again when the reason is mended: \`duly task retry ${id}\``
const bury: Advice = (_, { id }) =>
  `run it again: \`duly dlq retry ${id}\`; give it up: \`duly dlq discard ${id} --yes\``

/** The first of those that it waits for, or that ended wrongly, and that can be asked in turn: one that waits itself knows less. */
function askBlocker({ blockers = [] }: Cause): string | null {
  const blocker = blockers.find(({ status }) => status !== 'BLOCKED') ?? blockers[0]
  return blocker === undefined ? null : `ask what is up with it: \`duly task explain ${blocker.id}\``
}

const advices: Readonly<Record<CauseCode, Advice>> = {
  queue_paused: ({ queue }) => `resume the queue: \`duly queue resume ${queue}\``,
  no_worker_for_queue: (_, { id }) =>
    `start a worker that serves the queue, or move the task: \`duly task edit ${id} --queue <name>\``,
  no_worker_for_type: ({ taskType }) => `start a worker with a handler for ${taskType}: \`duly worker <file>\``,
  workers_of_other_tenants: ({ tenantId }) =>
    `start a worker whose key is bound to ${tenantId}, or to no tenant: \`duly key create --name worker --scopes work\``,
  worker_draining: (_, { status }) => (status === 'RUNNING' ? null : 'start a worker in its place'),
  slots_busy: () =>
    'more workers, more slots, or shorter time limits; see what runs: `duly task list --status RUNNING`',
  slot_free: nothing,
  lane_position: ({ ahead = 0, priority }, { id }) =>
    ahead === 0 || priority === 'high' ? null : `to let it go before others: \`duly task edit ${id} --priority high\``,
  other_lanes: nothing,
  set_aside: nothing,
  overflow: () => 'its queue has to drain first: more workers or slots',
  suspect: (_, { id }) => `look for what kills its workers: \`duly task attempts ${id}\``,
  suspect_turn: nothing,
  expires: nothing,
  not_due: sooner,
  snoozed: sooner,
  due: nothing,
  no_scheduler: () =>
    'start a node with the role scheduler: `duly serve --roles api,scheduler`; see who is there: `duly cluster`',
  retrying: (_, { id }) => `see what went wrong each time: \`duly task attempts ${id}\``,
  waits_for_earlier: askBlocker,
  waits_for_dependencies: askBlocker,
  running: (_, { id }) => `see what it writes: \`duly task logs ${id} --follow\`; stop it: \`duly task cancel ${id}\``,
  unacknowledged: nothing,
  worker_silent: lookAtWorkers,
  cancel_requested: nothing,
  past_deadline: nothing,
  progress: nothing,
  succeeded: nothing,
  failed: again,
  dependency_failed: askBlocker,
  retries_exhausted: (_, { id }) => `see what went wrong each time: \`duly task attempts ${id}\``,
  crashes_exhausted: (_, { id }) => `look for what killed its workers: \`duly task attempts ${id}\``,
  snoozes_exhausted: nothing,
  dead_letter: bury,
  discarded: nothing,
  cancelled: (cause, task) =>
    cause.reason?.startsWith('workflow_')
      ? `run its workflow again, which \`duly task get ${task.id}\` names: \`duly workflow retry <workflow>\``
      : again(cause, task),
  expired: again,
  skipped: nothing,
  purged: again,
  overlapped: nothing,
}

/**
 * What to do about a task that stands as explained: commands to copy, for the cause that matters most first. A cause of a newer server, of
 * which nothing is known here, has none.
 */
export function adviceOn(explanation: Explanation): readonly string[] {
  const { causes } = explanation
  const told = causes.map((cause) => (advices as Partial<Record<string, Advice>>)[cause.code]?.(cause, explanation))
  return told.filter((advice) => typeof advice === 'string')
}
