import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { PermanentError } from '@duly/sdk'

/** The folder whose files may be hashed: DULY_FILES_DIR, else this folder of examples. */
const filesDir = await realpath(process.env.DULY_FILES_DIR ?? fileURLToPath(new URL('..', import.meta.url)))

/**
 * The SHA-256 of a file, read as a stream.
 *
 * @param {{ path: string }} payload relative to the folder
 * @param {{ signal: AbortSignal }} context
 */
export async function hashFile(payload, { signal }) {
  const path = await pathWithin(payload?.path ?? 'worker.mjs')
  const hash = createHash('sha256')
  let bytes = 0
  const count = async function* (chunks) {
    for await (const chunk of chunks) {
      bytes += chunk.length
      yield chunk
    }
  }
  await pipeline(createReadStream(path), count, hash, { signal })
  return { path: payload?.path ?? 'worker.mjs', bytes, sha256: hash.digest('hex') }
}

/** The real path, which must lie in the folder: neither `..` nor a link leads out of it. */
async function pathWithin(name) {
  const path = await realpath(resolve(filesDir, String(name))).catch((error) => {
    throw new PermanentError(`there is no file ${name}`, { cause: error })
  })
  if (!path.startsWith(filesDir.replace(/[\\/]?$/, sep))) throw new PermanentError(`${name} is outside of ${filesDir}`)
  return path
}
