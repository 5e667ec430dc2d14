/** What a call comes to; or the reason of a signal that aborts first, when the call goes on for others. */
export function orAborted<T>(call: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return call
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const done = () => signal.removeEventListener('abort', abort)
    call.then(resolve, reject).finally(done)
  })
}
