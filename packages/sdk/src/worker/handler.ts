import type { DependencyDefinitions, NoDependencies } from '../define-task.js'
import type { RetryAfter, Snooze } from './handler-errors.js'
import type { TaskContext } from './task-context.js'

/** What a handler may give back: its result, or an outcome that is none. */
export type HandlerResult<ResultIn> = ResultIn | Snooze | RetryAfter

export type Handler<Payload = unknown, ResultIn = unknown, Declared extends DependencyDefinitions = NoDependencies> = (
  payload: Payload,
  context: TaskContext<Declared>,
) => HandlerResult<ResultIn> | Promise<HandlerResult<ResultIn>>
