import type { TestPostgres } from './test-postgres.js';
/** The `bin` folders of the PostgreSQL versions that the machine has installed itself (Debian's places), oldest first. */
export declare function systemPostgresFolders(): readonly string[];
/** Starts a server from a `bin` folder on a fresh data folder, on 127.0.0.1 without passwords. It dies with this process. */
export declare function startSystemPostgres(bin: string): Promise<TestPostgres>;
