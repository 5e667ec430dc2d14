import { createServer } from 'node:net'

/**
 * The ports that tests give out. No system hands these out by itself (Linux begins at 32768, others at 49152), so that a
 * server which is stopped and started again finds its port free: one from that range may be the local end of anybody's
 * connection by then.
 */
const FIRST = 20_000
const COUNT = 12_000

/** Each process of the test run has its own part of them, as many as it has slots for workers. */
const PARTS = 8
const PART = COUNT / PARTS

let turn = Math.trunc(Math.random() * PART)

/** A port on 127.0.0.1 that nothing listens on now and that no other test of this run is given. */
export async function freePort(): Promise<number> {
  const part = Number(process.env.VITEST_POOL_ID ?? 0) % PARTS
  for (let tries = 0; tries < PART; tries += 1) {
    turn = (turn + 1) % PART
    const port = FIRST + part * PART + turn
    if (await isFree(port)) return port
  }
  throw new Error(`none of the ports from ${FIRST + part * PART} to ${FIRST + (part + 1) * PART - 1} is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
