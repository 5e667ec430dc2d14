import { connect } from 'node:net'

/**
 * What a server answers to the first packet of a connection: `ready` (it would let us log in), `starting` (recovering, or
 * shutting down: SQLSTATE 57P03), `silent` (nothing listens, or something that isn't PostgreSQL).
 */
export type Readiness = 'ready' | 'starting' | 'silent'

const PROTOCOL_3_0 = 196_608
const CANNOT_CONNECT_NOW = '57P03'

/**
 * Asks a server on 127.0.0.1 whether it accepts connections, as libpq's PQping does: any authentication request or any error
 * but 57P03 means yes. Needs no password and no driver, and doesn't depend on log lines.
 * @param timeoutMs how long to wait for the answer
 */
export async function probe(port: number, timeoutMs = 2_000): Promise<Readiness> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: timeoutMs })
    let answer = Buffer.alloc(0)
    const settle = (readiness: Readiness) => {
      socket.destroy()
      resolve(readiness)
    }
    socket.on('connect', () => socket.write(startupMessage({ user: 'duly', database: 'duly' })))
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk])
      const readiness = readAnswer(answer)
      if (readiness) settle(readiness)
    })
    for (const event of ['error', 'timeout', 'end'] as const) socket.on(event, () => settle('silent'))
  })
}

/** The first packet of protocol 3.0: length, version, name/value pairs each ended by NUL, and a last NUL. */
export function startupMessage(parameters: Readonly<Record<string, string>>): Buffer {
  const body = Buffer.from(`${Object.entries(parameters).flat().join('\0')}\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(PROTOCOL_3_0, 4)
  return Buffer.concat([head, body])
}

/** Reads the server's first message; undefined until it is there in full. */
export function readAnswer(answer: Buffer): Readiness | undefined {
  if (answer.length < 5) return undefined
  const type = String.fromCharCode(answer.readUInt8(0))
  if (type === 'R') return 'ready'
  if (type !== 'E') return 'silent'
  if (answer.length < 1 + answer.readInt32BE(1)) return undefined
  const fields = answer.subarray(5).toString('latin1').split('\0')
  return fields.includes(`C${CANNOT_CONNECT_NOW}`) ? 'starting' : 'ready'
}
