/**
 * The part of Standard Schema v1 (standardschema.dev) that is used here, written out so that the SDK depends on nothing.
 * Zod, Valibot, ArkType, TypeBox adapters and others implement it.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A schema that checks nothing and only carries a type: `payload: type<{ to: string }>()`. */
export function type<T>(): StandardSchema<T, T> {
  return { '~standard': { version: 1, vendor: 'duly', validate: (value) => ({ value: value as T }) } }
}

/** Runs a schema; at once when the schema is synchronous, as nearly all are: the worker's hot path has no promise to spare. */
export function validate<Output>(
  schema: StandardSchema<unknown, Output> | undefined,
  value: unknown,
): SchemaResult<Output> | Promise<SchemaResult<Output>> {
  return schema === undefined ? { value: value as Output } : schema['~standard'].validate(value)
}

/** `to: must be a string; items.0: too long`. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues.map((issue) => `${describePath(issue)}${issue.message}`).join('; ')
}

function describePath({ path }: SchemaIssue): string {
  if (path === undefined || path.length === 0) return ''
  return `${path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.')}: `
}
