import type { TSchema } from 'typebox'
import * as bulk from './bulk.js'
import { Cluster, ClusterNode } from './cluster.js'
import { Status } from './common.js'
import * as schedules from './cron-schedule.js'
import * as cron from './cron-tasks.js'
import * as crontab from './crontab.js'
import * as dlq from './dead-letters.js'
import * as explain from './explain.js'
import { Worker, WorkerList } from './fleet.js'
import * as keys from './keys.js'
import { Problem } from './problems.js'
import { PausedQueue, PurgedQueue, Queue, QueueList } from './queues.js'
import { Figures, NamedFigures, Stats } from './stats.js'
import * as lists from './task-lists.js'
import * as logs from './task-logs.js'
import * as tasks from './tasks.js'
import * as workers from './workers.js'
import * as workflows from './workflows.js'

/** The schemas that have a name of their own in OpenAPI and in the reference; all others are written where they stand. */
export const components: Readonly<Record<string, TSchema>> = {
  SubmitTask: tasks.SubmitTask,
  SubmitBatch: tasks.SubmitBatch,
  SubmittedTask: tasks.SubmittedTask,
  SubmittedBatch: tasks.SubmittedBatch,
  Task: tasks.Task,
  TaskSummary: lists.TaskSummary,
  TaskSummaryList: lists.TaskSummaryList,
  EditTask: tasks.EditTask,
  CancelledTask: tasks.CancelledTask,
  Attempt: tasks.Attempt,
  AttemptList: tasks.AttemptList,
  Run: lists.Run,
  RunList: lists.RunList,
  TaskEvent: tasks.TaskEvent,
  TaskEventList: tasks.TaskEventList,
  Explanation: explain.Explanation,
  Cause: explain.Cause,
  LogLine: logs.LogLine,
  LogPage: logs.LogPage,
  LogRecord: logs.LogRecord,
  TaskError: tasks.TaskErrorSchema,
  Status,
  DeadLetter: dlq.DeadLetter,
  DeadLetterList: dlq.DeadLetterList,
  DeadLetterGroup: dlq.DeadLetterGroup,
  DeadLetterSummary: dlq.DeadLetterSummary,
  BulkRequest: bulk.BulkRequest,
  BulkPreview: bulk.BulkPreview,
  BulkOperation: bulk.BulkOperation,
  BulkOperationList: bulk.BulkOperationList,
  SubmitWorkflow: workflows.SubmitWorkflow,
  WorkflowTask: workflows.WorkflowTask,
  SubmittedWorkflow: workflows.SubmittedWorkflow,
  Workflow: workflows.Workflow,
  WorkflowNode: workflows.WorkflowNode,
  WorkflowSummary: workflows.WorkflowSummary,
  WorkflowList: workflows.WorkflowList,
  AddWorkflowTasks: workflows.AddWorkflowTasks,
  AddedWorkflowTasks: workflows.AddedWorkflowTasks,
  WorkflowStatus: workflows.WorkflowStatusEnum,
  CreateCronTask: cron.CreateCronTask,
  PutCronTask: cron.PutCronTask,
  EditCronTask: cron.EditCronTask,
  CronTask: cron.CronTask,
  CronTaskSummary: cron.CronTaskSummary,
  CronTaskList: cron.CronTaskList,
  FireTimes: schedules.FireTimes,
  PreviewSchedule: schedules.PreviewSchedule,
  SchedulePreview: schedules.SchedulePreview,
  Firing: cron.Firing,
  FiringList: cron.FiringList,
  ImportCrontab: crontab.ImportCrontab,
  ImportedCrontab: crontab.ImportedCrontab,
  Queue,
  QueueList,
  PausedQueue,
  PurgedQueue,
  RegisterWorker: workers.RegisterWorker,
  Worker,
  WorkerList,
  WorkerSession: workers.WorkerSessionSchema,
  Poll: workers.Poll,
  PollAnswer: workers.PollAnswer,
  Grant: workers.Grant,
  Report: workers.Report,
  ReportedError: workers.ReportedError,
  ReportRequest: workers.ReportRequest,
  ReportResult: workers.ReportResult,
  ReportAnswer: workers.ReportAnswer,
  Exchange: workers.Exchange,
  ExchangeAnswer: workers.ExchangeAnswer,
  Heartbeat: workers.Heartbeat,
  HeartbeatAnswer: workers.HeartbeatAnswer,
  DependencyResults: workers.DependencyResults,
  DependencyResultsAnswer: workers.DependencyResultsAnswer,
  CreateApiKey: keys.CreateApiKey,
  CreatedApiKey: keys.CreatedApiKey,
  RevokedApiKey: keys.RevokedApiKey,
  ApiKey: keys.ApiKey,
  ApiKeyList: keys.ApiKeyList,
  Cluster,
  ClusterNode,
  Stats,
  Figures,
  NamedFigures,
  Problem,
}

const names = new Map<unknown, string>(Object.entries(components).map(([name, schema]) => [schema, name]))

/** The name of a schema, if it has one. */
export function componentName(schema: unknown): string | undefined {
  return names.get(schema)
}
