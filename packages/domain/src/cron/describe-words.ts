/** `1`, `1 and 2`, `1, 2 and 3`. */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`
}

export function plural(count: number, unit: string): string {
  return count === 1 ? unit : `${count} ${unit}s`
}

/** `1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`. */
export function ordinal(value: number): string {
  const unit = value % 10
  const isTeen = Math.floor(value / 10) % 10 === 1
  const ending = isTeen ? 'th' : unit === 1 ? 'st' : unit === 2 ? 'nd' : unit === 3 ? 'rd' : 'th'
  return `${value}${ending}`
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
