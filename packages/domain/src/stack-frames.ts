/** Lines of stack traces as they are written: JavaScript, Java and .NET (`at …`), Ruby (`from …`), PHP (`#0 …`). */
const frame = /^(?:\s+at \S.*(?:\(|:\d)|\s*\.\.\. \d+ (?:more|common frames)|\s+from \S+:\d+:in |#\d+ \S)/
const pythonHeader = /^\s*Traceback \(most recent call last\):\s*$/
const indented = /^\s+\S/
/** From here on Go and Rust tell of frames alone. */
const restIsFrames = /^(?:goroutine \d+ \[|stack backtrace:)/

/**
 * A message without the frames of stack traces within it: which error it is, not by which way the program came to it. A text of frames
 * alone stays as it is. In time linear in the text.
 */
export function withoutFrames(text: string): string {
  if (!text.includes('\n')) return text
  const kept: string[] = []
  let isInPython = false
  for (const line of text.split('\n')) {
    if (restIsFrames.test(line)) break
    isInPython = pythonHeader.test(line) || (isInPython && (indented.test(line) || line.trim() === ''))
    if (!isInPython && !frame.test(line)) kept.push(line)
  }
  const rest = kept.join('\n')
  return rest.trim() === '' ? text : rest
}
