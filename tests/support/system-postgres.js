import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { probe } from '../../packages/duly/src/postgres/probe.js';
import { asServer, asUser, chooseLauncher, runToEnd } from '../../packages/duly/src/postgres/run-as.js';
import { freePort } from './ports.js';
const DEBIAN = '/usr/lib/postgresql';
/** The `bin` folders of the PostgreSQL versions that the machine has installed itself (Debian's places), oldest first. */
export function systemPostgresFolders() {
    if (!existsSync(DEBIAN))
        return [];
    const majors = readdirSync(DEBIAN).sort((a, b) => Number(a) - Number(b));
    return majors.map((major) => join(DEBIAN, major, 'bin')).filter((bin) => existsSync(join(bin, 'postgres')));
}
/** Starts a server from a `bin` folder on a fresh data folder, on 127.0.0.1 without passwords. It dies with this process. */
export async function startSystemPostgres(bin) {
    const launcher = await chooseLauncher();
    const folder = await mkdtemp(join(tmpdir(), 'duly-system-postgres-'));
    if (launcher.user)
        await chown(folder, launcher.user.uid, launcher.user.gid);
    const data = join(folder, 'data');
    const identity = ['--username', 'duly', '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C', '--no-sync'];
    const made = await runToEnd(asUser(launcher, join(bin, 'initdb'), ['--pgdata', data, ...identity]));
    if (!made.ok)
        throw new Error(`${bin}/initdb failed:\n${made.output}`);
    const port = await freePort();
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', 'jit=off'];
    const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
    const command = asServer(launcher, join(bin, 'postgres'), args);
    const child = spawn(command.file, command.args, { ...command.options, stdio: 'ignore' });
    const exited = once(child, 'exit');
    while ((await probe(port)) !== 'ready') {
        if (child.exitCode !== null)
            throw new Error(`${bin}/postgres ended with code ${child.exitCode}`);
        await delay(20);
    }
    return {
        url: `postgres://duly@127.0.0.1:${port}/postgres`,
        stop: async () => {
            child.kill('SIGINT');
            await exited;
            await rm(folder, { recursive: true, force: true });
        },
    };
}
//# sourceMappingURL=system-postgres.js.map