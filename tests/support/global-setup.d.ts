import type { TestProject } from 'vitest/node';
declare module 'vitest' {
    interface ProvidedContext {
        databaseService: string;
    }
}
/** Vitest's global set-up: offers databases to all test files, and cleans up at the end. */
export default function setup(project: TestProject): Promise<() => Promise<void>>;
