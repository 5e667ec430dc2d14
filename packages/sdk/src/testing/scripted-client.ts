import { afterEach } from 'vitest'
import { Duly } from '../client/duly.js'
import type { DulyOptions } from '../client/options.js'
import { type Call, type Reply, ScriptedServer } from './scripted-server.js'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** A client of a server that answers its `n`th call so, the first one being 1. Both are closed when the test is done. */
export async function clientOf(
  answer: (call: Call, n: number) => Reply | Promise<Reply>,
  options: Omit<DulyOptions, 'url'> = {},
) {
  const server = await ScriptedServer.start((call) => answer(call, server.calls.length))
  const duly = new Duly({ ...options, url: server.url })
  closers.push(
    () => duly.close(),
    () => server.stop(),
  )
  /** What each call had in its query. */
  const queries = () => server.calls.map(({ path }) => Object.fromEntries(new URL(path, server.url).searchParams))
  return { duly, server, queries }
}
