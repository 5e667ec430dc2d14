export {
  type BulkAction,
  BulkHandle,
  type BulkOperations,
  type BulkPreview,
  type BulkRecord,
  type BulkStatus,
  type BulkWaitOptions,
} from './client/bulk.js'
export type { Cron } from './client/cron.js'
export type { CronEdit, CronFilters, CronOptions, CronRules, CronTiming, ImportOptions } from './client/cron-options.js'
export type * from './client/cron-records.js'
export type {
  DeadLetter,
  DeadLetterFilters,
  DeadLetterGroup,
  DeadLetterSummary,
  DeadLetters,
  SummaryOptions,
} from './client/dlq.js'
export { Duly } from './client/duly.js'
export type { Cause, Explanation, NearWorker, WaitEstimate } from './client/explanations.js'
export type * from './client/fleet-records.js'
export type { ApiKeys, CreateKeyOptions } from './client/keys.js'
export type { DulyOptions } from './client/options.js'
export type { PageOptions } from './client/page-options.js'
export type { Queues } from './client/queues.js'
export { RawJson, rawJson, rawOf } from './client/raw-json.js'
export * from './client/records.js'
export type { StatsOptions } from './client/stats.js'
export type { SubmitOptions } from './client/submission.js'
export { type NodeOptions, type NodeRef, TaskGraph, WorkflowNode } from './client/task-graph.js'
export { TaskHandle, type WaitOptions } from './client/task-handle.js'
export type { TaskEdit, TaskFilters } from './client/task-lists.js'
export type { LogOptions } from './client/task-logs.js'
export { type BatchItem, type BulkFilters, batchItem, type Tasks } from './client/tasks.js'
export type { Workers } from './client/workers.js'
export {
  AddedTasks,
  type SubmitWorkflowOptions,
  WorkflowBuilder,
  type WorkflowOptions,
} from './client/workflow-builder.js'
export { WorkflowHandle } from './client/workflow-handle.js'
export * from './client/workflow-records.js'
export type { TaskAddition, WorkflowFilters, Workflows, WorkflowWaitOptions } from './client/workflows.js'
export * from './define-task.js'
export { type Duration, toMs, toSeconds } from './duration.js'
export * from './errors.js'
export { type SchemaIssue, type SchemaResult, type StandardSchema, type } from './standard-schema.js'
export type { ChildOptions } from './worker/child-tasks.js'
export { classifyHttpError, type ErrorClassifier, type ErrorVerdict } from './worker/classify.js'
export type { Dependencies } from './worker/dependencies.js'
export type { StopSummary, WorkerEvents } from './worker/events.js'
export type { Handler, HandlerResult } from './worker/handler.js'
export * from './worker/handler-errors.js'
export type { ErrorContext, WorkerLogger, WorkerOptions } from './worker/options.js'
export type { Checkpoint, LogLevel, TaskContext } from './worker/task-context.js'
export { Worker } from './worker/worker.js'
export type { WorkerState } from './worker/worker-state.js'
