-- Which names keys bound to a tenant use: a share of them is the tenant's, whoever brought a name, so that what a name costs tells
-- nothing of other tenants. At most the share of each kind a tenant.
create table tenant_names (
  tenant text collate "C" not null,
  kind text collate "C" not null check (kind in ('queue', 'task_type')),
  name text collate "C" not null,
  primary key (tenant, kind, name)
);
insert into tenant_names (tenant, kind, name)
select brought_by, 'queue', name from queues where brought_by is not null
union all select brought_by, 'task_type', name from task_types where brought_by is not null;
