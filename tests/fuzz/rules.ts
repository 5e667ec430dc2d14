/** Rules beside the schemas that refuse a request which its schema takes. Each is written in the documents; others are faults. */
const rules: readonly { readonly path: RegExp; readonly message: RegExp }[] = [
  { path: /(^|\.)delay_seconds$/, message: /^must not be given together with scheduled_at$/ },
  { path: /\.(result|error|retry_after_seconds|delay_seconds)$/, message: /^belongs to the outcome \w+ only$/ },
  { path: /\.delay_seconds$/, message: /^is required with the outcome snoozed$/ },
  { path: /^Idempotency-Key$/, message: /^differs from the field idempotency_key$/ },
  { path: /^cursor$/, message: /^is not a cursor of this list with these filters/ },
  { path: /^filter$/, message: /^must say which tasks; to mean every one, give all: true in its place$/ },
  { path: /\.waits_for_adder$/, message: /^must not be given together with dependencies: / },
  { path: /^all$/, message: /^must not be given together with a filter$/ },
  { path: /^filter\.status$/, message: /^must be one that the action \w+ changes: / },
  { path: /^tasks\[\d+\]\.task_id$/, message: /^must be unique in the workflow; tasks\[\d+\] has this name$/ },
  {
    path: /^tasks\[\d+\]\.dependencies\[\d+\]$/,
    message: /^(no task of this workflow is called|names ".*" a second time|closes a cycle: )/,
  },
  { path: /^tasks\[\d+\]\.trigger_rule$/, message: /^one_failed needs dependencies/ },
  { path: /^tasks\[\d+\]\.metadata\.tenant_id$/, message: /^(names another tenant than|must be the workflow's)/ },
  { path: /(^|\.)metadata$/, message: /^has \d+ bytes; at most 16384 are taken$/ },
]

/** Whether a listed error is one of those rules. */
export function isRule({ path, message }: { readonly path: string; readonly message: string }): boolean {
  return rules.some((rule) => rule.path.test(path) && rule.message.test(message))
}
