/** A text broken into lines of at most so many characters, between words. */
export function wrap(text, width) {
  const result = ['']
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const line = result.at(-1)
    if (line === '') result[result.length - 1] = word
    else if (line.length + 1 + word.length <= width) result[result.length - 1] = `${line} ${word}`
    else result.push(word)
  }
  return result.join('\n')
}
