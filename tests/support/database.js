import { inject } from 'vitest';
/** Makes a database for the calling test file: migrated, with the partitions of the days around today; or empty. */
export async function createDatabase({ empty = false } = {}) {
    const service = inject('databaseService');
    const { url } = await call(new URL(empty ? '/empty' : '/', service), 'POST');
    return {
        url,
        drop: async () => {
            await call(new URL(new URL(url).pathname, service), 'DELETE');
        },
    };
}
async function call(address, method) {
    const response = await fetch(address, { method });
    const text = await response.text();
    if (!response.ok)
        throw new Error(`no test database: ${text}`);
    return JSON.parse(text);
}
//# sourceMappingURL=database.js.map