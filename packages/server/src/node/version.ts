import { readFileSync } from 'node:fs'

const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')

/** The version of the server package. */
export const version: string = (JSON.parse(text) as { readonly version: string }).version
