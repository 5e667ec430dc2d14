import type { Statement } from './database.js'
import { summaryColumns, summaryJoins } from './record-sql.js'

/**
 * What a list walks along, newest first: the index whose every entry fits one filter. The other filters are asked of the rows
 * that it leads to.
 */
export const drivers = [
  'workflow',
  'cron',
  'tenant',
  'waiting',
  'running',
  'open',
  'ended',
  'succeeded',
  'all',
] as const
export type Driver = (typeof drivers)[number]

/** Drivers that lead over tasks wherever they stand. */
const taskDrivers = ['workflow', 'cron', 'tenant'] as const
type TaskDriver = (typeof taskDrivers)[number]
const isTaskDriver = (driver: Driver): driver is TaskDriver => (taskDrivers as readonly Driver[]).includes(driver)

/** How a task can stand by its status, each looked up in its own way. */
const standings = ['waiting', 'ended', 'succeeded', 'open'] as const
export type Standing = (typeof standings)[number]

/**
 * Parameters of every list: $1 ids before it, $2 ids from it on, $3 rows wanted, $4 rows looked at, $5 tenant, $6 task type,
 * $7 queue, $8 tag, $9 workflow, $10 cron task, $11 created from, $12 created before, $13 correlation id, $14 status.
 */
const zeroUuid = '00000000-0000-0000-0000-000000000000'

const range = (id: string): string => `${id} < $1::uuid and ${id} >= $2::uuid`

const taskColumns = 't.id, t.tenant, t.task_type, t.queue, t.tags, t.metadata, t.created_at, t.workflow_id, t.cron_id'

const ofTasks = (condition: string): string =>
  `select ${taskColumns} from tasks t where ${condition}${range('t.id')} order by t.id desc`

/** The entries of each driver in the order of the page, unbounded. */
const walks: Readonly<Record<Driver, string>> = {
  workflow: ofTasks('t.workflow_id = $9::uuid and '),
  cron: ofTasks('t.cron_id = $10::uuid and '),
  tenant: ofTasks('t.tenant = $5::text and '),
  all: ofTasks(''),
  waiting: `
    select o.status, o.id, o.tenant, o.task_type, o.queue from open_tasks o
    where (o.status, o.id) < ($14::text, $1::uuid) and (o.status, o.id) >= ($14::text, $2::uuid) and o.session is null
    order by o.status desc, o.id desc`,
  // at most as many as all workers have slots: gathered, then sorted
  running: `
    select h.id, h.tenant, h.task_type, h.queue from (
      select o.id, o.tenant, o.task_type, o.queue from open_tasks o where o.session >= '${zeroUuid}'::uuid offset 0) h
    where ${range('h.id')} order by h.id desc`,
  open: `
    select o.id, o.tenant, o.task_type, o.queue from open_tasks o where ${range('o.id')} order by o.id desc`,
  ended: `
    select u.id from outcomes u
    where u.status = $14::text and u.status <> 'SUCCEEDED' and ${range('u.id')} order by u.id desc`,
  succeeded: `select u.id, u.status from outcomes u where ${range('u.id')} order by u.id desc`,
}

/** What is asked of a row of tasks, whatever led to it. */
const fits = `
    and ($5::text is null or t.tenant = $5) and ($6::text is null or t.task_type = $6)
    and ($7::text is null or t.queue = $7) and ($8::text is null or $8 = any (t.tags))
    and ($9::uuid is null or t.workflow_id = $9) and ($10::uuid is null or t.cron_id = $10)
    and ($11::timestamptz is null or t.created_at >= $11) and ($12::timestamptz is null or t.created_at < $12)
    and ($13::text is null or t.metadata::json ->> 'correlation_id' = $13)`

/** Asked of the open row before its task is looked up. */
const fitsOpen = `
    ($5::text is null or d.tenant = $5) and ($6::text is null or d.task_type = $6) and ($7::text is null or d.queue = $7)`

const standsAt = `($14::text is null or $14 = coalesce(
      (select u.status from outcomes u where u.id = t.id limit 1), (select o.status from open_tasks o where o.id = t.id limit 1)))`

/** The walk is over tasks themselves. */
const ofTask = [
  (walk: string): string => `from (${walk}) d cross join lateral (select d.*) t where ${standsAt} ${fits}`,
  'd.id desc',
] as const

const joinTask = `cross join lateral (select ${taskColumns} from tasks t where t.id = d.id limit 1) t`

/** How the entries of a walk are asked for what it does not promise, and their order. */
const picks: Readonly<Record<Driver, readonly [from: (walk: string) => string, order: string]>> = {
  workflow: ofTask,
  cron: ofTask,
  tenant: ofTask,
  all: ofTask,
  waiting: [(walk) => `from (${walk}) d ${joinTask} where ${fitsOpen} ${fits}`, 'd.status desc, d.id desc'],
  running: [(walk) => `from (${walk}) d ${joinTask} where ${fitsOpen} ${fits} and $14::text is not null`, 'd.id desc'],
  open: [(walk) => `from (${walk}) d ${joinTask} where ${fitsOpen} ${fits} and $14::text is null`, 'd.id desc'],
  ended: [(walk) => `from (${walk}) d ${joinTask} where true ${fits}`, 'd.id desc'],
  succeeded: [(walk) => `from (${walk}) d ${joinTask} where d.status = $14::text ${fits}`, 'd.id desc'],
}

/**
 * Does the task behind an entry stand so? One look into one index, before the task itself is read: the entries of the walk need
 * no look into the table, and most do not fit.
 */
const stands: Readonly<Record<Standing, string>> = {
  waiting: `select o.status = $14::text from open_tasks o where o.id = w.id limit 1`,
  ended: `
    select true from outcomes u where u.id = w.id and u.status = $14::text and u.status <> 'SUCCEEDED' limit 1`,
  succeeded: `select u.status = $14::text from outcomes u where u.id = w.id limit 1`,
  open: `select $14::text is null from open_tasks o where o.id = w.id limit 1`,
}

const standing = (how: Standing) =>
  [
    (walk: string): string => `
  from (select w.id from (${walk}) w where (${stands[how]}) order by w.id desc offset 0) d ${joinTask} where true ${fits}`,
    'd.id desc',
  ] as const

/** The walk can lead over tasks of several tenants. */
export const isShared = (driver: Driver): boolean => driver !== 'tenant'

/** The next task of the tenant behind the last entry that was looked at: a cursor must not hold another tenant's id. */
const ownBehind = `(
    select t.id from tasks t
    where t.tenant = $5::text and t.id < e.id and t.id >= $2::uuid
    order by t.id desc limit 1)`

/** What a page tells of each of its tasks. */
interface Told {
  readonly name: string
  readonly columns: string
  readonly joins: string
}

const summary: Told = { name: 'list', columns: summaryColumns, joins: summaryJoins }

/** What who acts on tasks must know of them. */
const candidate: Told = {
  name: 'candidates',
  columns: `t.id, t.workflow_id as "workflowId", t.tenant, t.task_type as "taskType", t.queue, coalesce(u.status, o.status) as status,
  coalesce((o.status = 'RUNNING' and o.cancel_requested_at is not null) or u.discarded_at is not null, false) as "isSettled"`,
  joins: `
left join lateral (select u.status, u.discarded_at from outcomes u where u.id = t.id limit 1) u on true
left join lateral (select o.status, o.cancel_requested_at from open_tasks o where o.id = t.id limit 1) o on true`,
}

/**
 * One page of a list in one snapshot: a task that moves between the tables stands in exactly one of them. At most $4 entries
 * of the driver are looked at; when they yield fewer rows than wanted, `edge` is the last of them, or null: that was all. Where a
 * tenant's are asked for and the entries are everybody's, `edge` is the tenant's next task instead, which was not looked at.
 */
function listBy(driver: Driver, { what, how }: { readonly what: Told; readonly how?: Standing }): Statement {
  const walk = walks[driver]
  const [from, order] = how ? standing(how) : picks[driver]
  const edge = isShared(driver) ? `case when $5::text is null then e.id else ${ownBehind} end` : 'e.id'
  return {
    name: `${what.name}_by_${driver}${how ? `_${how}` : ''}`,
    text: `
with page as materialized (
  select d.id ${from(`${walk} limit $4::integer`)} order by ${order} limit $3::integer
)
select case when (select count(*) from page) < $3::integer then (
    select ${edge} from (${walk} limit 1 offset $4::integer - 1) e) end as edge, r.*
from (select true) one left join (
  select ${what.columns}
  from page g cross join lateral (select t.* from tasks t where t.id = g.id limit 1) t ${what.joins}
) r on true
order by r.id desc`,
  }
}

/** One statement for each driver, and for each that leads over tasks wherever they stand, one for each standing. */
function statementsOf(what: Told): ReadonlyMap<string, Statement> {
  const plain = drivers.map((driver) => [driver, listBy(driver, { what })] as const)
  const ofStanding = taskDrivers.flatMap((driver) =>
    standings.map((how) => [`${driver}_${how}`, listBy(driver, { what, how })] as const),
  )
  return new Map<string, Statement>([...plain, ...ofStanding])
}

const statements = { summary: statementsOf(summary), candidate: statementsOf(candidate) } as const

/** The list that a driver leads, of tasks that stand so; null: however they stand, or as the driver says. */
export function listOf(driver: Driver, how: Standing | null, what: keyof typeof statements = 'summary'): Statement {
  const key = how !== null && isTaskDriver(driver) ? `${driver}_${how}` : driver
  return statements[what].get(key) as Statement
}

/** Every list, with what leads it. */
export const lists: readonly { readonly driver: Driver; readonly statement: Statement }[] = drivers.flatMap((driver) =>
  [...new Set([null, ...standings].flatMap((how) => [listOf(driver, how), listOf(driver, how, 'candidate')]))].map(
    (statement) => ({ driver, statement }),
  ),
)

/** Entries of an index by which a probe measures how far they reach. */
const probeEntries = 1_000

const ofEnd = (walk: string): string => `(select e.id from (${walk} limit 1 offset ${probeEntries - 1}) e)`

/**
 * How far back the next 1,000 entries of the tenant reach, and those of the status; null: to the end. The parameters are $1,
 * $2, the tenant as $3 and the status as $4.
 */
function probeOf(driver: 'waiting' | 'ended'): Statement {
  const renumbered = (walk: string) => walk.replaceAll('$5::', '$3::').replaceAll('$14::', '$4::')
  return {
    name: `probe_${driver}`,
    text: `select ${ofEnd(renumbered(walks.tenant))} as tenant, ${ofEnd(renumbered(walks[driver]))} as status`,
  }
}

/** Which of two indexes is the better driver. */
export const probes = { waiting: probeOf('waiting'), ended: probeOf('ended') } as const
