import { afterAll } from 'vitest'

const steps: (() => unknown)[] = []
// Registered once, when the test file loads: hooks can't be added from inside a test.
afterAll(async () => {
  for (const step of steps.splice(0).reverse()) await step()
})

/** Does this when the test file is done, whatever happened; the last one asked for comes first. */
export function cleanUpLater(step: () => unknown): void {
  steps.push(step)
}
