import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import pg from 'pg';
import { migrate } from '../../packages/server/src/store/migrations.js';
import { startTestPostgres } from './test-postgres.js';
/**
 * Hands out databases to the test files, which run in processes of their own. Lives in Vitest's main process, so that one
 * server serves all files; starts it at the first request only, so that a run of pure unit tests starts none.
 *
 * `POST /` → `{url}` of a new migrated database, `POST /empty` → of an empty one, `DELETE /<name>` drops one.
 */
export class DatabaseService {
    #http = createServer((request, response) => {
        this.#answer(request.method ?? '', request.url ?? '').then((body) => response.end(JSON.stringify(body)), (error) => response.writeHead(500).end(error instanceof Error ? error.stack : String(error)));
    });
    #made = new Set();
    /** One statement at a time: PostgreSQL refuses to copy a template while another copy of it starts. */
    #line = Promise.resolve();
    #postgres;
    #template;
    /** @returns the address for `createDatabase` */
    async start() {
        await new Promise((resolve) => this.#http.listen(0, '127.0.0.1', resolve));
        const address = this.#http.address();
        if (address === null || typeof address !== 'object')
            throw new Error('the database service has no port');
        return `http://127.0.0.1:${address.port}`;
    }
    async stop() {
        this.#http.close();
        this.#http.closeAllConnections();
        if (!this.#postgres)
            return;
        const postgres = await this.#postgres;
        // Only matters on a server that isn't ours, where they would stay behind.
        for (const name of this.#made)
            await this.#admin(`drop database if exists ${name} with (force)`);
        await postgres.stop();
    }
    async #answer(method, path) {
        if (method === 'POST')
            return { url: await this.#create(path === '/empty' ? undefined : await this.#prepareTemplate()) };
        const name = path.slice(1);
        if (!this.#made.delete(name))
            throw new Error(`no database ${name} of ours`);
        await this.#admin(`drop database if exists ${name} with (force)`);
        return { dropped: name };
    }
    #prepareTemplate() {
        this.#template ??= this.#create().then(async (url) => {
            await migrate(url);
            return new URL(url).pathname.slice(1);
        });
        return this.#template;
    }
    async #create(template) {
        const name = `duly_test_${randomBytes(6).toString('hex')}`;
        await this.#admin(`create database ${name}${template ? ` template ${template}` : ''}`);
        this.#made.add(name);
        const url = new URL(await this.#serverUrl());
        url.pathname = `/${name}`;
        return url.href;
    }
    async #serverUrl() {
        this.#postgres ??= startTestPostgres();
        return (await this.#postgres).url;
    }
    #admin(statement) {
        const work = this.#line.then(async () => {
            const client = new pg.Client({ connectionString: await this.#serverUrl() });
            await client.connect();
            await client.query(statement).finally(() => client.end());
        });
        this.#line = work.catch(() => { }); // told to whoever asked; the next in line is not concerned
        return work;
    }
}
//# sourceMappingURL=database-service.js.map