export type { GaugeSources, QueueSample, SlotSample } from './gauges.js'
export { createLogger, type Logger, type LoggerOptions, type LogLevel, logLevels } from './logger.js'
export * from './metrics.js'
export { renderMetrics } from './metrics-page.js'
