import type { DependencyDefinitions, NoDependencies, TaskDefinition } from '../define-task.js'
import type { RetryAfter, Snooze } from './handler-errors.js'
import type { TaskContext } from './task-context.js'

/** What a handler may give back: its result, or an outcome that is none. */
export type HandlerResult<ResultIn> = ResultIn | Snooze | RetryAfter

export type Handler<Payload = unknown, ResultIn = unknown, Declared extends DependencyDefinitions = NoDependencies> = (
  payload: Payload,
  context: TaskContext<Declared>,
) => HandlerResult<ResultIn> | Promise<HandlerResult<ResultIn>>

/** The handler of a task type: of a definition with its types, of a mere name with none. */
export type HandlerOf<Task> = [Task] extends [string]
  ? Handler
  : Task extends TaskDefinition<unknown, infer Payload, infer ResultIn, unknown, infer Declared>
    ? Handler<Payload, ResultIn, Declared>
    : never
