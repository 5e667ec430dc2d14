import type { Command } from 'commander'

/** The flags that say which tasks: the same of a list as of an operation on many. */
export function withTaskFilters(command: Command): Command {
  return command
    .option(
      '--status <status>',
      'SCHEDULED, PENDING, BLOCKED, RUNNING, RETRYING, SUCCEEDED, FAILED, DEAD or CANCELLED',
      (text) => text.toUpperCase(),
    )
    .option('--task-type <name>', 'of this type')
    .option('--queue <name>', 'in this queue')
    .option('--tenant <id>', 'of this tenant')
    .option('--tag <tag>', 'with this tag')
    .option('--workflow-id <id>', 'of this workflow')
    .option('--cron-id <id>', 'that this recurring task made')
    .option('--created-after <instant>', 'created then or later, e.g. 2026-04-03T00:00:00Z')
    .option('--created-before <instant>', 'created before that instant')
    .option('--correlation-id <id>', 'with this metadata.correlation_id')
}
