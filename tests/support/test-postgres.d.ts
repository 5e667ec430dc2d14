/** A running server for tests; `url` names a database whose user may create others. */
export interface TestPostgres {
    readonly url: string;
    stop(): Promise<void>;
}
/**
 * The PostgreSQL that the tests share: `DULY_TEST_DATABASE_URL` if set (left running), else one from the folder
 * `DULY_TEST_POSTGRES_BIN` (e.g. `/usr/lib/postgresql/15/bin`), else the embedded one. The latter two live in a temporary
 * folder and die with this process. fsync stays on: what tests show about durability and order is then true.
 */
export declare function startTestPostgres(environment?: NodeJS.ProcessEnv): Promise<TestPostgres>;
