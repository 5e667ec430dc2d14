import { limits } from '@duly/domain'
import Type, { type Static } from 'typebox'
import { Count, closed, NullableId, NullableText, name } from './common.js'
import { enabled, rules, TimeZone, taskFields } from './cron-parts.js'

/** Each line has a payload of its own. */
const { payload: _payload, ...importFields } = taskFields

/** A crontab, and what all recurring tasks that come of it have besides. */
export const ImportCrontab = closed(
  {
    crontab: Type.String({
      maxLength: limits.crontabMaxBytes,
      description: 'The text of a crontab. `CRON_TZ=…` and `TZ=…` lines are obeyed.',
    }),
    task_type: Type.Optional(
      name({
        description:
          'Of every task; default "run_command". Its payload is `{"command": …}`, with `stdin` for what stands behind a `%`, and `user`.',
      }),
    ),
    name_prefix: Type.Optional(
      name({ description: 'Names are this and one made of the command, so that an import can be repeated.' }),
    ),
    has_user: Type.Optional(
      Type.Boolean({ description: 'A system crontab, with the user before the command. Default false.' }),
    ),
    timezone: Type.Optional(TimeZone),
    ...rules,
    ...importFields,
    enabled: enabled('Absent: as they stand; of new ones true.'),
    dry_run: Type.Optional(Type.Boolean({ description: 'Judge only, store nothing.' })),
  },
  {
    examples: [
      { crontab: '0 3 * * * /usr/local/bin/backup', task_type: 'run_command', name_prefix: 'web-1/', dry_run: true },
    ],
  },
)
export type ImportCrontabBody = Static<typeof ImportCrontab>

export const ImportedCrontab = closed({
  lines: Type.Array(
    closed({
      line: Type.Integer({ minimum: 1 }),
      text: Type.String(),
      result: Type.Enum(['created', 'replaced', 'unchanged', 'would_import', 'ignored', 'refused'], {
        description: 'ignored: empty, a comment, or a variable.',
      }),
      cron_id: NullableId,
      name: NullableText,
      message: NullableText,
    }),
  ),
  imported: Count,
  refused: Count,
})
