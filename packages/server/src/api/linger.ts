import type { Socket } from 'node:net'

/** How long, and for how many bytes, a connection that is being closed still reads. */
export interface LingerLimits {
  readonly ms: number
  readonly bytes: number
}

const ending = new WeakSet<Socket>()

/** Whether the last answer on this connection has been given: nothing that comes after it may be served. */
export const isEnding = (socket: Socket): boolean => ending.has(socket)

/**
 * Makes the end of a connection, whoever brings it about, a slow one (RFC 9112, section 9.6): what is written goes out, then no
 * more is said, and what the client still sends is read and thrown away until it closes too or a limit is reached. A server
 * that closes at once over bytes that it has not read makes the system send a reset, and a client that gets one while it is
 * sending never looks at the answer. Only over a limit the client has itself to blame.
 */
export function lingerAtEnd(socket: Socket, { ms, bytes }: LingerLimits): void {
  if (ending.has(socket)) return
  ending.add(socket)
  const mostRead = socket.bytesRead + bytes
  socket.destroySoon = () => {
    const give = (): void => void socket.destroy()
    const timer = setTimeout(give, ms)
    const look = setInterval(() => socket.bytesRead > mostRead && give(), LOOK_MS)
    socket.once('close', () => {
      clearTimeout(timer)
      clearInterval(look)
    })
    socket.end()
  }
}

/** The HTTP parser takes the bytes from the system itself; how many they are can only be asked. */
const LOOK_MS = 50
