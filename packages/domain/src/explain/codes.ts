import { markdownTable } from '../markdown.js'

/** Every cause that an explanation can name. A code is never renamed and never changes its meaning. */
export const causeCodes = [
  { code: 'queue_paused', doc: 'Its queue is paused: nothing is started from it until somebody resumes it.' },
  { code: 'no_worker_for_queue', doc: 'No live worker serves its queue.' },
  { code: 'no_worker_for_type', doc: 'Live workers serve its queue, but none of them its task type.' },
  { code: 'workers_of_other_tenants', doc: 'The workers that serve its queue and type are bound to other tenants.' },
  { code: 'worker_draining', doc: 'A worker that could run it, or runs it, is draining: it takes nothing more.' },
  { code: 'slots_busy', doc: 'Every slot of the workers that may run it is taken.' },
  { code: 'slot_free', doc: 'A worker that may run it has a free slot: it starts with the next claim.' },
  { code: 'lane_position', doc: 'How many tasks of its lane are ahead of it, and how long that may take.' },
  {
    code: 'other_lanes',
    doc: 'Other priorities, tenants or gates of its queue have ready tasks too, and share its starts.',
  },
  {
    code: 'set_aside',
    doc: 'It stands in a gate of its type, so that workers without its type need not read past it.',
  },
  {
    code: 'overflow',
    doc: 'It was taken while its queue was nearly full: served once the queue is below half of its cap.',
  },
  { code: 'suspect', doc: 'A worker was lost with it: it waits apart, and a worker holds one such task at a time.' },
  { code: 'suspect_turn', doc: 'Each worker that may run it holds another suspect.' },
  { code: 'expires', doc: 'If it has not started by then, it ends CANCELLED (expired).' },
  { code: 'not_due', doc: 'It was asked to run later.' },
  { code: 'snoozed', doc: 'Its handler put it off.' },
  { code: 'due', doc: 'Its time has come: it becomes ready in an instant.' },
  { code: 'no_scheduler', doc: 'No node with the role of a scheduler lives: nothing that is due becomes ready.' },
  { code: 'retrying', doc: 'An attempt failed or timed out; it waits for its delay, which was drawn or asked for.' },
  { code: 'waits_for_earlier', doc: 'Earlier tasks of its recurring task were told to stop and have not ended.' },
  { code: 'waits_for_dependencies', doc: 'Tasks of its workflow that it depends on have not ended.' },
  { code: 'running', doc: 'A worker runs it.' },
  { code: 'unacknowledged', doc: 'It was given to a worker that has not said that it arrived.' },
  { code: 'worker_silent', doc: 'Its worker missed its heartbeats; when the lease is over, the task is taken back.' },
  { code: 'cancel_requested', doc: 'Its worker was told to stop it, and has some seconds to obey.' },
  { code: 'past_deadline', doc: 'It ran out of time: the attempt is ended when the grace is over.' },
  { code: 'progress', doc: 'How far its handler said it is.' },
  { code: 'succeeded', doc: 'Its handler returned.' },
  { code: 'failed', doc: 'A permanent error ended it.' },
  { code: 'dependency_failed', doc: 'A task that it depends on ended so that it can not run.' },
  { code: 'retries_exhausted', doc: 'It failed once more than it has retries.' },
  { code: 'crashes_exhausted', doc: 'It took too many workers with it.' },
  { code: 'snoozes_exhausted', doc: 'Its handler put it off too often.' },
  { code: 'dead_letter', doc: 'It lies in the dead letters: it can be retried or discarded.' },
  { code: 'discarded', doc: 'It was discarded from the dead letters: only its record is left.' },
  { code: 'cancelled', doc: 'Somebody cancelled it.' },
  { code: 'expired', doc: 'It had not started when it was to have.' },
  { code: 'skipped', doc: 'Its trigger rule can not be met, which is no failure.' },
  { code: 'purged', doc: 'Its queue was emptied.' },
  { code: 'overlapped', doc: 'A later task of its recurring task took its place.' },
] as const

/** A cause of how a task stands. */
export type CauseCode = (typeof causeCodes)[number]['code']

/** The text of docs/reference/causes.md. A test keeps file and list equal. */
export function renderCauses(): string {
  return [
    '# Causes',
    '',
    'Generated from `packages/domain/src/explain/codes.ts` by `npm run generate`; do not edit.',
    '',
    'What [`GET /tasks/{task_id}/explain`](http.md), `duly task explain` and `handle.explain()` name. The first cause is the one that',
    'matters most.',
    '',
    ...markdownTable(
      ['Code', 'Meaning'],
      causeCodes.map(({ code, doc }) => [`\`${code}\``, doc]),
    ),
    '',
  ].join('\n')
}
