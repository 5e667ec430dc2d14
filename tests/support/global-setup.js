import { DatabaseService } from './database-service.js';
/** Vitest's global set-up: offers databases to all test files, and cleans up at the end. */
export default async function setup(project) {
    const service = new DatabaseService();
    project.provide('databaseService', await service.start());
    return () => service.stop();
}
//# sourceMappingURL=global-setup.js.map