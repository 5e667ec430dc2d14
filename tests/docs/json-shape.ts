const IDS = /\b([a-z]+)-[0-9a-hjkmnp-tv-z]{26}\b/g

/**
 * Where JSON that a page shows differs from what was printed; null: nowhere. On the page `…` in a text stands for anything, a key
 * `…` for more keys; an id stands for any id of its kind.
 */
export function mismatch(shown: string, printed: string): string | null {
  try {
    return differs(JSON.parse(shown), JSON.parse(printed), '')
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function differs(shown: unknown, actual: unknown, path: string): string | null {
  if (typeof shown === 'string') return textFits(shown, actual) ? null : `${path}: ${JSON.stringify(actual)}`
  if (Array.isArray(shown)) return Array.isArray(actual) ? listDiffers(shown, actual, path) : `${path} is no list`
  if (typeof shown === 'object' && shown !== null) return objectDiffers({ ...shown }, actual, path)
  return Object.is(shown, actual) ? null : `${path}: ${JSON.stringify(actual)}`
}

function textFits(shown: string, actual: unknown): boolean {
  if (shown === '…') return actual !== undefined
  if (typeof actual !== 'string') return false
  const parts = shown.replaceAll(IDS, '$1-…').split('…')
  return new RegExp(`^${parts.map(escaped).join('.*')}$`, 's').test(actual)
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')

function listDiffers(shown: readonly unknown[], actual: readonly unknown[], path: string): string | null {
  const isOpen = shown.at(-1) === '…'
  const items = isOpen ? shown.slice(0, -1) : shown
  if (isOpen ? actual.length < items.length : actual.length !== items.length)
    return `${path} has ${actual.length} items`
  return first(items.map((item, index) => differs(item, actual[index], `${path}[${index}]`)))
}

function objectDiffers(shown: Readonly<Record<string, unknown>>, actual: unknown, path: string): string | null {
  if (typeof actual !== 'object' || actual === null) return `${path} is no object`
  const found: Readonly<Record<string, unknown>> = { ...actual }
  const keys = Object.keys(shown).filter((key) => key !== '…')
  const more = Object.keys(found).filter((key) => !keys.includes(key))
  if (more.length > 0 && !('…' in shown)) return `${path} also has ${more.join(', ')}`
  return first(keys.map((key) => differs(shown[key], found[key], `${path}.${key}`)))
}

const first = (found: readonly (string | null)[]): string | null => found.find((each) => each !== null) ?? null
