const PLAIN_KEY = /^[A-Za-z_$][\w$-]*$/

/**
 * Writes where a value stands in a document: `tasks[3].payload["odd key"]`. The document itself is the empty path.
 * One form for everything that points into a body: the scanner, the schema errors and the rules between fields.
 */
export function formatPath(steps: readonly (string | number)[]): string {
  let path = ''
  for (const step of steps) path += formatStep(step, path === '')
  return path
}

function formatStep(step: string | number, first: boolean): string {
  if (typeof step === 'number') return `[${step}]`
  if (!PLAIN_KEY.test(step)) return `[${JSON.stringify(step)}]`
  return first ? step : `.${step}`
}

/** Appends a key to a path that is already written. */
export function joinPath(path: string, step: string | number): string {
  return path + formatStep(step, path === '')
}
