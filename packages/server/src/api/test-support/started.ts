import { afterEach } from 'vitest'
import { type TestApi, testApi } from './test-api.js'

const apis: TestApi[] = []
afterEach(async () => {
  await Promise.all(apis.splice(0).map(({ app }) => app.close()))
})

/** An API of the calling test's own; closed when it ends. */
export function started(...config: Parameters<typeof testApi>): TestApi {
  const api = testApi(...config)
  apis.push(api)
  return api
}
