export { RestlessError, type RestlessTask } from '@duly/server/testing'
export { type AdvanceOptions, startTestServer, type TestServer, type TestServerOptions } from './test-server.js'
