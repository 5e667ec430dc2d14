/** A database of one test file's own. */
export interface TestDatabase {
    readonly url: string;
    /** Ends its connections and removes it. Not needed for cleanliness (all go at the end), but keeps the server small. */
    drop(): Promise<void>;
}
/** Makes a database for the calling test file: migrated, with the partitions of the days around today; or empty. */
export declare function createDatabase({ empty }?: {
    empty?: boolean | undefined;
}): Promise<TestDatabase>;
