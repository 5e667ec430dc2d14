export { type ExitCode, type ExitName, exitCodes } from './cli/exit-codes.js'
export * from './postgres/index.js'
