import type { TestProject } from 'vitest/node'
import { DatabaseService } from './database-service.js'

declare module 'vitest' {
  interface ProvidedContext {
    databaseService: string
  }
}

/** Vitest's global set-up: offers databases to all test files, and cleans up at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const service = new DatabaseService()
  project.provide('databaseService', await service.start())
  return () => service.stop()
}
