import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../packages/duly/src/postgres/index.js';
import { startSystemPostgres } from './system-postgres.js';
/**
 * The PostgreSQL that the tests share: `DULY_TEST_DATABASE_URL` if set (left running), else one from the folder
 * `DULY_TEST_POSTGRES_BIN` (e.g. `/usr/lib/postgresql/15/bin`), else the embedded one. The latter two live in a temporary
 * folder and die with this process. fsync stays on: what tests show about durability and order is then true.
 */
export async function startTestPostgres(environment = process.env) {
    const url = environment.DULY_TEST_DATABASE_URL;
    if (url)
        return { url, stop: async () => { } };
    const bin = environment.DULY_TEST_POSTGRES_BIN;
    if (bin)
        return startSystemPostgres(bin);
    const dataDir = await mkdtemp(join(tmpdir(), 'duly-test-postgres-'));
    const server = await startPostgres({ dataDir, settings: { max_connections: 200 } });
    return {
        url: server.url,
        stop: async () => {
            await server.stop();
            await rm(dataDir, { recursive: true, force: true });
        },
    };
}
//# sourceMappingURL=test-postgres.js.map