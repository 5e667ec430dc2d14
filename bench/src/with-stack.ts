import pg from 'pg'
import type { Options } from './options.js'
import { type Stack, type StackSettings, startStack } from './stack.js'

/** A stack that stands for as long as `work` takes, and a connection of the benchmark's own to its database. */
export async function withStack(
  options: Options,
  work: (stack: Stack, client: pg.Client) => Promise<void>,
  settings: StackSettings = {},
): Promise<void> {
  const stack = await startStack(options, null, settings)
  const client = new pg.Client({ connectionString: stack.databaseUrl })
  try {
    await client.connect()
    await work(stack, client)
  } finally {
    await client.end()
    await stack.stop()
  }
}

/** The same, once the worker has run the tasks of the warm-up. */
export async function withWarmStack(
  options: Options,
  work: (stack: Stack, client: pg.Client) => Promise<void>,
  settings: StackSettings = {},
): Promise<void> {
  const warmed = async (stack: Stack, client: pg.Client) => {
    await stack.startWorker()
    await stack.producer.call('single', { count: options.tasks.warmUp, inFlight: options.inFlight })
    await stack.database.untilAllFinished()
    await work(stack, client)
  }
  await withStack(options, warmed, settings)
}
