/**
 * "The row is there for the caller", as a condition: the parameter is the caller's tenant, or null for one that sees everything. It
 * belongs in the statement that reads or changes the row: then another tenant's row is looked for, not locked and not found as one
 * that does not exist, at the same cost.
 */
export const ofTenant = (column: string, parameter: string): string =>
  `(${parameter}::text is null or ${column} = ${parameter}::text)`
