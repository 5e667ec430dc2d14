import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const source = (name: string, module = 'index') =>
  fileURLToPath(new URL(`./packages/${name}/src/${module}.ts`, import.meta.url))

/** Unit and integration tests run on the sources; tests that start processes run on the build (`npm run build`). */
export default defineConfig({
  resolve: {
    alias: {
      '@duly/domain': source('domain'),
      '@duly/contract': source('contract'),
      '@duly/server/testing': source('server', 'kit/index'),
      '@duly/server': source('server'),
      '@duly/sdk/names': source('sdk', 'known-options'),
      '@duly/sdk/nearest-name': source('sdk', 'nearest-name'),
      '@duly/sdk/testing': source('sdk', 'test-kit/index'),
      '@duly/sdk': source('sdk'),
      'duly/testing': source('duly', 'test-kit/index'),
    },
  },
  test: {
    globalSetup: './tests/support/global-setup.ts',
    include: ['packages/**/src/**/*.test.ts', 'tests/**/*.test.ts'],
    // none of them says how long something may take: they end what would never end, on a machine that is short of time too
    testTimeout: 180_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 30_000 } },
    maxWorkers: 4,
    pool: 'forks',
  },
})
