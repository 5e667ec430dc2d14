import { createServer } from 'node:net';
/** A port on 127.0.0.1 that nothing listens on now. */
export async function freePort() {
    return new Promise((resolve, reject) => {
        const server = createServer();
        server.once('error', reject);
        server.listen(0, '127.0.0.1', () => {
            const address = server.address();
            server.close(() => resolve(address !== null && typeof address === 'object' ? address.port : 0));
        });
    });
}
//# sourceMappingURL=ports.js.map