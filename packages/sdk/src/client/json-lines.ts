import { DulyConnectionError } from '../errors.js'
import { connectionErrorOf } from './problems.js'

/** JSON, a record a line. */
export const jsonLines = 'application/x-ndjson'

/** Longest line that a server writes, and some. */
const MOST_CHARS = 1_048_576

/**
 * The records of a stream, so many at a time as have come together; none where an empty line says that the connection lives.
 *
 * @throws DulyConnectionError when it breaks, or brings what is no JSON
 */
export async function* recordsIn(chunks: AsyncIterable<Buffer>): AsyncGenerator<Record<string, unknown>[], void> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const chunk of chunks) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MOST_CHARS) throw unreadable('a line of the answer is too long')
      yield lines.filter((line) => line.trim() !== '').map(parse)
    }
  } catch (error) {
    throw connectionErrorOf(error)
  }
}

function parse(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>
  } catch (cause) {
    throw unreadable('a line of the answer is not JSON', cause)
  }
}

const unreadable = (message: string, cause?: unknown): DulyConnectionError =>
  new DulyConnectionError('NOT_JSON', message, { mayHaveArrived: true, cause })
