export { type ApiParts, buildApi } from './build-api.js'
export { type ApiConfig, type ResolvedApiConfig, resolveApiConfig } from './config.js'
export { defaultQueue, defaultTenant, defaultTimeoutSeconds } from './to-new-task.js'
