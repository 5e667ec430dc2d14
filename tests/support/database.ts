import { inject } from 'vitest'
import type {} from './global-setup.js'

/** A database of one test file's own. */
export interface TestDatabase {
  readonly url: string
  /** Ends its connections and removes it. Not needed for cleanliness (all go at the end), but keeps the server small. */
  drop(): Promise<void>
}

/** Makes a database for the calling test file: migrated, with the partitions of the days around today; or empty. */
export async function createDatabase({ empty = false } = {}): Promise<TestDatabase> {
  const service = inject('databaseService')
  const { url } = await call(new URL(empty ? '/empty' : '/', service), 'POST')
  return {
    url,
    drop: async () => {
      await call(new URL(new URL(url).pathname, service), 'DELETE')
    },
  }
}

async function call(address: URL, method: string): Promise<{ url: string }> {
  const response = await fetch(address, { method })
  const text = await response.text()
  if (!response.ok) throw new Error(`no test database: ${text}`)
  return JSON.parse(text)
}
