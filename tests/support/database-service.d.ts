/**
 * Hands out databases to the test files, which run in processes of their own. Lives in Vitest's main process, so that one
 * server serves all files; starts it at the first request only, so that a run of pure unit tests starts none.
 *
 * `POST /` → `{url}` of a new migrated database, `POST /empty` → of an empty one, `DELETE /<name>` drops one.
 */
export declare class DatabaseService {
    #private;
    /** @returns the address for `createDatabase` */
    start(): Promise<string>;
    stop(): Promise<void>;
}
