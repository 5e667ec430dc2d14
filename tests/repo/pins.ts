/** The part of a package.json that is looked at. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly engines?: { readonly node?: string }
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly overrides?: Readonly<Record<string, string>>
}

const exact = /^(npm:(@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/

/** Dependencies that are not one exact version, as `name: range`. */
export function loosePins(manifest: Manifest): string[] {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies, overrides } = manifest
  return [dependencies, devDependencies, optionalDependencies, peerDependencies, overrides]
    .flatMap((group) => Object.entries(group ?? {}))
    .filter(([, version]) => !exact.test(version))
    .map(([name, version]) => `${name}: ${version}`)
}

/** The part of package-lock.json that is looked at. */
export interface LockFile {
  readonly packages: Readonly<
    Record<string, { readonly version?: string; readonly resolved?: string; readonly link?: boolean }>
  >
}

/** Entries that name where they were downloaded: such a lock file works with that registry alone. */
export function downloadAddresses(lock: LockFile): string[] {
  return Object.entries(lock.packages)
    .filter(([, { resolved, link }]) => resolved !== undefined && link !== true)
    .map(([path, { resolved }]) => `${path}: ${resolved}`)
}
