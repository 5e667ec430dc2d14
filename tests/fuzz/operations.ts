/** A JSON Schema as it stands in the document. `true` and `{}` take any value. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly minProperties?: number
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: Schema
}

interface Response {
  readonly description: string
  readonly headers?: Readonly<Record<string, unknown>>
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>
}

interface DocumentedOperation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
  readonly responses: Readonly<Record<string, Response>>
}

/** What a server says of itself at `/openapi.json`. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** One operation of the document. */
export interface Operation {
  readonly id: string
  readonly method: string
  /** As in the document: `/api/v1/tasks/{task_id}`. */
  readonly path: string
  readonly parameters: readonly Parameter[]
  /** References resolved at the top; null: the operation takes no body. */
  readonly body: Schema | null
  readonly responses: Readonly<Record<string, Response>>
}

export function operationsOf(document: OpenApiDocument): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content['application/json'].schema ?? null,
      responses: operation.responses,
    })),
  )
}

/** Follows references into the components. */
export function resolver(document: OpenApiDocument): (schema: Schema) => Schema {
  return (schema) => {
    let found = schema
    while (found.$ref !== undefined) {
      const name = found.$ref.replace('#/components/schemas/', '')
      const target = document.components.schemas[name]
      if (target === undefined) throw new Error(`the document lacks ${found.$ref}`)
      found = target
    }
    return found
  }
}

/** The types that a schema takes; empty: any value. */
export function typesOf(schema: Schema): readonly string[] {
  if (schema.type === undefined) return []
  return typeof schema.type === 'string' ? [schema.type] : schema.type
}

/** Whether a schema takes anything, so that its value is kept as the text that was written. */
export function isOpaque(schema: Schema): boolean {
  return schema.type === undefined && !schema.enum && !schema.anyOf && schema.const === undefined
}
