import { errorPatternMaxChars } from '@duly/domain'
import Type, { type Static } from 'typebox'
import { Count, closed, Instant, id, list, name, PageQuery, plainText } from './common.js'

const Fingerprint = {
  pattern: '^[0-9a-f]{16}$',
  description:
    'Of a group: the same queue, task type, error class and pattern. In lists, in the summary, and as a filter.',
}

const errorPattern = Type.String({
  maxLength: errorPatternMaxChars,
  description:
    'The message without what varies: numbers, ids, durations, instants, quoted texts and addresses are placeholders, frames of stack traces are left out. HTTP statuses and codes of exits stay.',
})

export const DeadLetter = closed({
  task_id: id('task'),
  tenant_id: name(),
  task_type: name(),
  queue: name(),
  created_at: Instant,
  died_at: Instant,
  attempts: Count,
  failures: Count,
  crashes: Count,
  error: closed({ class: Type.String(), message: Type.String() }),
  error_pattern: errorPattern,
  fingerprint: Type.String(Fingerprint),
})

export const DeadLetterList = list(DeadLetter)

/** Which dead letters are meant; all that is given must fit. */
export const letterFilters = {
  queue: Type.Optional(name()),
  task_type: Type.Optional(name()),
  tenant_id: Type.Optional(name({ description: 'A key that is bound to a tenant sees its own anyway.' })),
  error_class: Type.Optional(plainText(200, { description: 'Class of the error, as it stands in the letter.' })),
  fingerprint: Type.Optional(Type.String(Fingerprint)),
}

export const DeadLetterListQuery = closed({ ...letterFilters, ...PageQuery })

export const DeadLetterQuery = closed(letterFilters)
export type DeadLetterQueryBody = Static<typeof DeadLetterQuery>

export const DeadLetterGroup = closed({
  fingerprint: Type.String(Fingerprint),
  queue: name(),
  task_type: name(),
  error_class: Type.String(),
  error_pattern: errorPattern,
  letters: Type.Integer({ minimum: 1, description: 'Dead letters of the group.' }),
  oldest_at: Instant,
  newest_at: Instant,
  sample_task_id: id('task', { description: 'The newest of them.' }),
})

export const DeadLetterSummary = closed({
  letters: Type.Integer({ minimum: 0, description: 'Dead letters that fit, in the groups shown and in all others.' }),
  groups: Type.Integer({ minimum: 0, description: 'Groups that fit.' }),
  items: Type.Array(DeadLetterGroup, { description: 'The largest first.' }),
  is_complete: Type.Boolean({
    description:
      'False: there are more groups than one look takes in (10,000 sums), and the figures are of those alone.',
  }),
})

export const DeadLetterSummaryQuery = closed({
  queue: letterFilters.queue,
  task_type: letterFilters.task_type,
  tenant_id: letterFilters.tenant_id,
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: 'Groups at most; absent: 50.' })),
})
