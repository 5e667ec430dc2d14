import { byKey, type Statement } from './database.js'

/**
 * How the parents of tasks ended that have, in the order of the graph. Of each task the results come along from the smallest on, as long as
 * they are within $2 bytes in all; sizes are known without reading what was stored apart.
 */
export const dependenciesOf: Statement = {
  name: 'read_dependencies',
  text: `
select i.id as task, p.name, p.status, case when p.upto <= $2::bigint then p.result end as result,
  p.bytes is not null and p.upto > $2::bigint as "isOmitted"
from unnest($1::uuid[]) i(id) cross join lateral (
  select n.position, n.name, u.status, u.result, octet_length(u.result) as bytes,
    sum(octet_length(u.result)) over (order by octet_length(u.result) nulls first, n.position) as upto
  from (select e.parent from workflow_edges e where ${byKey('e.child', 'i.id')}) e
  cross join lateral (select n.name, n.position from workflow_nodes n where n.id = e.parent limit 1) n
  cross join lateral (select u.status, u.result from outcomes u where u.id = e.parent limit 1) u
) p
order by i.id, p.position`,
}

/** Whether this attempt runs, with this lease. */
export const holdsLease: Statement = {
  name: 'holds_lease',
  text: `
select from open_tasks o
where ${byKey('o.id', '$1::uuid')} and o.status = 'RUNNING' and o.session = $2 and o.attempt = $3 and o.token = $4::bigint`,
}

/** Results of parents by their names, in the order asked for, up to $3 bytes in all, and the first one that has a result in any case. */
export const resultsOf: Statement = {
  name: 'read_dependency_results',
  text: `
select p.name, case when p.fits then p.result end as result, p.bytes is not null and not p.fits as "isOmitted"
from (
  select a.name, a.place, u.result, octet_length(u.result) as bytes,
    sum(octet_length(u.result)) over (order by a.place) <= greatest($3::bigint, octet_length(u.result)) as fits
  from unnest($2::text[]) with ordinality a(name, place)
  cross join lateral (
    select n.id from workflow_nodes n
    where n.workflow_id = (select c.workflow_id from workflow_nodes c where c.id = $1) and n.name = a.name limit 1) n
  left join lateral (select u.result from outcomes u where u.id = n.id limit 1) u on true
  where n.id = any (array(select e.parent from workflow_edges e where e.child = $1))
) p
order by p.place`,
}
