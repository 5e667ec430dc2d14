/** The environment of a program that a test starts: that of the tests, without what they are told themselves (`DULY_SEED` and others). */
export function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('DULY_')))
}
