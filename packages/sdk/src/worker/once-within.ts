/** A function that runs `act` at its first call, or by itself after `ms`; never twice. */
export function onceWithin(ms: number, act: () => void): () => void {
  let isDone = false
  const run = () => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    act()
  }
  const timer = setTimeout(run, ms)
  return run
}
