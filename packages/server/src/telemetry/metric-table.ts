/** One metric: what Prometheus is told and what docs/reference/metrics.md says. Seconds, bytes and counts only. */
export interface MetricEntry {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
  readonly buckets?: readonly number[]
}

/** From a direct hand-off (1 ms) to a task that waited for a day. */
const waitBuckets = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3_600, 86_400]
const runBuckets = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 1_800, 7_200]
const storeBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const httpBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 15, 60]
const sizeBuckets = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 10_000]

/** Every metric of a node, in the order of a task's life. */
export const metricTable = {
  duly_tasks_submitted_total: {
    kind: 'counter',
    labels: ['task_type', 'tenant'],
    help: 'Tasks accepted as new; replays of a key are not counted.',
  },
  duly_tasks_started_total: { kind: 'counter', labels: ['task_type'], help: 'Attempts handed to a worker.' },
  duly_tasks_finished_total: {
    kind: 'counter',
    labels: ['task_type', 'outcome'],
    help: 'Tasks that ended, by their final status in lower case.',
  },
  duly_task_retries_total: { kind: 'counter', labels: ['task_type'], help: 'Failures that are tried again.' },
  duly_task_timeouts_total: {
    kind: 'counter',
    labels: ['task_type'],
    help: 'Attempts ended because their time was up.',
  },
  duly_leases_lost_total: { kind: 'counter', labels: [], help: 'Attempts taken back because their session was dead.' },
  duly_submit_to_start_seconds: {
    kind: 'histogram',
    labels: ['task_type'],
    help: 'From the submission to the first start, of tasks that were due at once.',
    buckets: waitBuckets,
  },
  duly_due_to_start_seconds: {
    kind: 'histogram',
    labels: ['task_type'],
    help: 'From the due time to the start.',
    buckets: waitBuckets,
  },
  duly_due_to_promotion_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'From the due time to the promotion, by the node that did it.',
    buckets: waitBuckets,
  },
  duly_partitions_led: {
    kind: 'gauge',
    labels: [],
    help: 'Timer partitions that the node leads: over the nodes they add up to all.',
  },
  duly_execution_seconds: {
    kind: 'histogram',
    labels: ['task_type'],
    help: 'From the start of an attempt to its end.',
    buckets: runBuckets,
  },
  duly_queue_depth: {
    kind: 'gauge',
    labels: ['queue', 'priority'],
    help: 'PENDING tasks; what waits for its time is no backlog. Of the shared store: take the max over the nodes.',
  },
  duly_queue_oldest_seconds: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'How long the oldest PENDING task has been ready. Of the shared store: take the max over the nodes.',
  },
  duly_dead_letters: {
    kind: 'gauge',
    labels: ['queue'],
    help: 'Dead tasks that were neither retried nor discarded, of the first 10,000 groups and tenants. Of the shared store: take the max over the nodes.',
  },
  duly_worker_slots_busy: {
    kind: 'gauge',
    labels: [],
    help: 'Slots of live sessions that run a task. Of the shared store: take the max over the nodes.',
  },
  duly_worker_slots_total: {
    kind: 'gauge',
    labels: [],
    help: 'Slots of live sessions. Of the shared store: take the max over the nodes.',
  },
  duly_commit_batch_tasks: {
    kind: 'histogram',
    labels: [],
    help: 'Tasks in one commit of intake.',
    buckets: sizeBuckets,
  },
  duly_commit_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'Duration of one commit of intake.',
    buckets: storeBuckets,
  },
  duly_claim_batch_tasks: { kind: 'histogram', labels: [], help: 'Tasks taken by one claim.', buckets: sizeBuckets },
  duly_claim_seconds: { kind: 'histogram', labels: [], help: 'Duration of one claim.', buckets: storeBuckets },
  duly_workflows_finished_total: {
    kind: 'counter',
    labels: ['workflow', 'outcome'],
    help: 'Workflows of which no task is open any more, by name and final status in lower case; one that is run again counts again.',
  },
  duly_workflow_seconds: {
    kind: 'histogram',
    labels: ['workflow'],
    help: 'From the submission of a workflow to the end of its last task.',
    buckets: waitBuckets,
  },
  duly_workflows_open: {
    kind: 'gauge',
    labels: [],
    help: 'Workflows that run, counted up to 100,000. Of the shared store: take the max over the nodes.',
  },
  duly_cron_firings_total: {
    kind: 'counter',
    labels: ['outcome'],
    help: 'Fire times of recurring tasks that were judged: `fired`, `triggered`, `skipped_overlap`, `skipped_misfire`.',
  },
  duly_cron_lateness_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'From the fire time, moved by the jitter, to the commit of its task; what was missed and made up for counts in full.',
    buckets: waitBuckets,
  },
  duly_cron_errors_total: {
    kind: 'counter',
    labels: [],
    help: 'Looks at recurring tasks that could not be evaluated; the log and the field `error` name them.',
  },
  duly_retention_removed_rows_total: {
    kind: 'counter',
    labels: ['kind'],
    help: 'Rows that were past their time: `tasks` for records, else the table, `results` for results cleared by their time to live.',
  },
  duly_retention_last_success_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'When the last pass of the retention ended without an error, in Unix time. One node does it: take the max over the nodes.',
  },
  duly_retention_oldest_day_seconds: {
    kind: 'gauge',
    labels: [],
    help: 'Age of the oldest day or month that still has a partition. Of the shared store: take the max over the nodes.',
  },
  duly_retention_pass_seconds: {
    kind: 'histogram',
    labels: [],
    help: 'Duration of one pass of the retention, pauses included.',
    buckets: runBuckets,
  },
  duly_retention_swap_seconds: {
    kind: 'histogram',
    labels: ['outcome'],
    help: 'Duration of one try to replace partitions, `landed` or `given_up`: other work may have waited that long.',
    buckets: storeBuckets,
  },
  duly_http_request_seconds: {
    kind: 'histogram',
    labels: ['method', 'route', 'status'],
    help: 'From the first byte of a request to the last of its answer; long polls are held on purpose.',
    buckets: httpBuckets,
  },
} as const satisfies Record<string, MetricEntry>

export type MetricName = keyof typeof metricTable
