import { DulyError, type TenantScope } from '@duly/domain'

/**
 * The filters of a list as the caller may ask them: one who is bound to a tenant gets that tenant's.
 * @throws DulyError `forbidden` when they name another one
 */
export function scopedTo<F extends { readonly tenant: string | null }>(filters: F, tenant: TenantScope): F {
  if (tenant === null) return filters
  if (filters.tenant === null || filters.tenant === tenant) return { ...filters, tenant }
  throw new DulyError('forbidden', `tenant_id names another tenant than ${tenant}, which this key is bound to.`)
}
