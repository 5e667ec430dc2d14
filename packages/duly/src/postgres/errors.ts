/** A failure of the embedded PostgreSQL, worded for the person at the terminal: what failed, where, and what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

/** The way out that always works, whatever is wrong with the embedded server. */
export const WAY_OUT =
  'Or use a PostgreSQL of your own (15 or newer): set DULY_DATABASE_URL=postgres://user:password@host:5432/database.'

const REMEDIES: Readonly<Record<string, string>> = {
  EACCES: 'This user may not write there: choose another folder with DULY_DATA_DIR, or mend its permissions.',
  EPERM: 'This user may not write there: choose another folder with DULY_DATA_DIR, or mend its permissions.',
  EROFS: 'That file system is read-only: choose another folder with DULY_DATA_DIR.',
  ENOSPC: 'The disk is full: free some space, or choose another folder with DULY_DATA_DIR.',
  EDQUOT: 'The disk quota is used up: free some space, or choose another folder with DULY_DATA_DIR.',
  EEXIST: 'There is a file of that name: choose another folder with DULY_DATA_DIR.',
  ENOENT: 'Something of it is missing, or nothing can be made there: choose another folder with DULY_DATA_DIR.',
  ENOTDIR: 'A part of that path is a file: choose another folder with DULY_DATA_DIR.',
}

/** The code of a Node system error (`ENOENT`, …), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Turns a system error met while doing `what` at `path` into a message that names the remedy. */
export function explainSystemError(what: string, path: string, error: unknown): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) return error
  const code = errorCode(error)
  const remedy = (code && REMEDIES[code]) ?? (error instanceof Error ? error.message : String(error))
  return new EmbeddedPostgresError(
    `Embedded PostgreSQL could not ${what} (${path}${code ? `: ${code}` : ''}). ${remedy}\n${WAY_OUT}`,
    {
      cause: error,
    },
  )
}

const LOG_REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/No space left on device|could not extend|Disk quota exceeded/i, REMEDIES.ENOSPC as string],
  [/Permission denied|has wrong ownership|invalid permissions/i, REMEDIES.EACCES as string],
  [
    /database files are incompatible with server|was initialized by PostgreSQL version/i,
    'The data was made by another PostgreSQL version: choose a fresh folder with DULY_DATA_DIR, or move the data over with pg_dump.',
  ],
  [
    /could not (create|map) .*shared memory/i,
    'The machine has too little shared memory: start with a smaller shared_buffers, or enlarge /dev/shm.',
  ],
  [/error while loading shared libraries/i, 'The binaries do not fit this system (they need glibc and libstdc++).'],
]

/** Turns what a PostgreSQL program wrote before it gave up into a message with a remedy and its last lines. */
export function explainOutput(what: string, output: string): EmbeddedPostgresError {
  const remedy = LOG_REMEDIES.find(([pattern]) => pattern.test(output))?.[1]
  const lines = output.trim().split('\n').slice(-6).join('\n  ')
  const parts = [`Embedded PostgreSQL could not ${what}.`, remedy, lines && `It said:\n  ${lines}`, WAY_OUT]
  return new EmbeddedPostgresError(parts.filter(Boolean).join('\n'))
}
