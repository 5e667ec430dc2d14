export type { Outcome, ReportedError } from '../worker/outcome.js'
export {
  type AddedTask,
  type HandlerRun,
  type LogLine,
  type Progress,
  type RunHandlerOptions,
  runHandler,
  type Submission,
  type SubmittedWorkflow,
} from './run-handler.js'
