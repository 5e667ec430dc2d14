import { nearestName } from '@duly/sdk/nearest-name'

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly properties?: object }>>
}

/** Longer ones are no misspelt names. */
const MAX_CHARS = 64

/** How others call what is known here. */
const elsewhere: Readonly<Record<string, string>> = {
  ...{ retries: 'max_retries', attempts: 'max_retries', max_attempts: 'max_retries' },
  ...{ run_at: 'scheduled_at', start_at: 'scheduled_at', eta: 'scheduled_at' },
  ...{ depends_on: 'dependencies', needs: 'dependencies', after: 'dependencies' },
  ...{ args: 'payload', data: 'payload', input: 'payload' },
}

/** What is said of a key that a schema does not have, with the one that was meant if there is one near, also in an object below. */
export function unknownField(key: string, schema: unknown): string {
  const meant = key.length > MAX_CHARS ? undefined : meantBy(key, (schema ?? {}) as ObjectSchema)
  return meant === undefined ? 'is not a known field' : `is not a known field; did you mean ${meant}?`
}

function meantBy(key: string, { properties = {} }: ObjectSchema): string | undefined {
  const known = Object.keys(properties)
  const others = Object.keys(elsewhere).filter((name) => known.includes(elsewhere[name] as string))
  const near = nearestName(key, [...known, ...others])
  if (near !== undefined) return known.includes(near) ? near : elsewhere[near]
  const below = known.flatMap((name) =>
    Object.keys(properties[name]?.properties ?? {}).map((inner) => [name, inner] as const),
  )
  const inner = nearestName(
    key,
    below.map(([, name]) => name),
  )
  return below.find(([, name]) => name === inner)?.join('.')
}
