import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { readHistory } from './history.js'
import { checkInvariants, invariants } from './invariants.js'

let database: TestDatabase
let client: pg.Client

const at = (minutes: number) => `now() + interval '${minutes} minutes'`

/** Ids of today whose last digit tells them apart; the partition in them is 5. */
const SAMPLES = `
create function sample(n int) returns uuid language sql as $$
  select (substr(duly_day_bound(current_date)::text, 1, 14) || '7005-8000-' || lpad(n::text, 12, '0'))::uuid $$;
insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter,
  retry_delay_ms, retry_max_delay_ms, timeout_ms, payload, idempotency_key)
select sample(n), 'acme', 'x', 'default', 2, ${at(-10)}, 3, 'fixed', 'none', 0, 0, 1000, '{"mark":"m","plan":"succeed"}',
  case when n in (1, 5) then 'key-' || n end
from generate_series(1, 6) as n;
insert into tasks (id, tenant, task_type, queue, priority, created_at, scheduled_at, max_retries, retry_backoff, retry_jitter,
  retry_delay_ms, retry_max_delay_ms, timeout_ms, payload, cron_id)
select sample(n), 'acme', 'x', 'cron', 2, ${at(-10)}, ${at(-11)}, 3, 'fixed', 'none', 0, 0, 1000, 'null', sample(200)
from generate_series(7, 8) as n;
insert into worker_sessions (id, name, queues, task_types, slots, heartbeat_ms, lease_ms, registered_at, beat_at, live_until)
values (sample(100), 'w', '{}', '{}', 2, 5000, 15000, ${at(-9)}, now(), ${at(1)});
insert into session_grants (session, last_grant) values (sample(100), 3);
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, timeout_ms, ready_at, due_at, wake_at)
values (sample(1), 5, 'PENDING', 'acme', 'default', 'x', 2, 1000, now(), null, null),
       (sample(2), 5, 'SCHEDULED', 'acme', 'default', 'x', 2, 1000, null, ${at(5)}, ${at(5)});
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, timeout_ms, attempt, crashes, session, token, grant_no,
  started_at, deadline_at, wake_at)
values (sample(3), 5, 'RUNNING', 'acme', 'default', 'x', 2, 1000, 2, 1, sample(100), 7, 3, now(), ${at(1)}, ${at(1)});
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, timeout_ms, attempt, session, token, grant_no,
  started_at, deadline_at, wake_at, cancel_requested_at, cron_id)
values (sample(7), 5, 'RUNNING', 'acme', 'cron', 'x', 2, 1000, 1, sample(100), 6, 2, now(), ${at(1)}, ${at(1)}, now(), sample(200));
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, timeout_ms, blockers, cron_id)
values (sample(8), 5, 'BLOCKED', 'acme', 'cron', 'x', 2, 1000, 1, sample(200));
insert into cron_tasks (id, tenant, name, expression, anchor_at, timezone, overlap, misfire, grace_ms, jitter_ms, enabled, next_fire_at,
  wake_at, task_type, queue, task, payload, created_at, updated_at)
values (sample(200), 'acme', 'often', '* * * * *', now(), 'UTC', 'cancel_running', 'skip', 0, 0, true, ${at(1)}, ${at(1)}, 'x', 'cron',
  '{}', 'null', now(), now());
insert into cron_tenants values ('acme', 1), ('left', 0);
insert into cron_firings (cron_id, fire_time, tenant, fired_at, outcome, task_id)
values (sample(200), ${at(-12)}, 'acme', ${at(-10)}, 'skipped_misfire', null),
       (sample(200), ${at(-11)}, 'acme', ${at(-10)}, 'fired', sample(7)),
       (sample(200), ${at(-10)}, 'acme', ${at(-10)}, 'triggered', sample(8)),
       (sample(201), ${at(-9_000)}, 'acme', ${at(-9_000)}, 'fired', sample(9));
insert into outcomes (id, status, completed_at, started_at, attempt, failures, crashes, undelivered, snoozes, releases, run, session, token)
values (sample(4), 'DEAD', now(), ${at(-1)}, 1, 1, 0, 0, 0, 0, 1, sample(100), 8),
       (sample(5), 'SUCCEEDED', now(), ${at(-1)}, 1, 0, 0, 0, 0, 0, 1, sample(100), 9),
       (sample(6), 'CANCELLED', now(), null, 1, 0, 0, 0, 0, 1, 2, null, null);
insert into failed_attempts (task_id, attempt, run, outcome, started_at, ended_at)
values (sample(3), 1, 1, 'lost', ${at(-2)}, ${at(-1)}), (sample(4), 1, 1, 'failed', ${at(-1)}, now()),
       (sample(6), 1, 1, 'released', ${at(-2)}, ${at(-1)});
insert into runs (task_id, run, archived_at, status, completed_at, attempt, failures, crashes)
values (sample(6), 1, now(), 'CANCELLED', ${at(-1)}, 1, 0, 0);
insert into dead_letters values (sample(4), 'acme', 'default', 'x', now(), 'E', 'm 1', 'm <n>', '0123456789abcdef');
insert into dead_letter_counts values ('acme', 'default', 'x', '0123456789abcdef', 1, 3), ('acme', 'default', 'x', '0123456789abcdef', 2, -2);
insert into bulk_operations (id, action, source, filter, actor, matched, done, skipped) values (sample(9), 'cancel', 'tasks', '{}', 'api', 3, 2, 1);
insert into idempotency_keys values ('acme', 'key-1', sample(1), '', now()), ('acme', 'key-5', sample(5), '', now());
insert into counters values ('default', 2, 'acme', '', 1, 3), ('default', 2, 'acme', '', 2, -2);`

/** A workflow that runs (a failed, b skipped for it, c waits for d, which runs), and one that failed. */
const WORKFLOWS = `
insert into tasks (id, tenant, task_type, queue, priority, created_at, max_retries, retry_backoff, retry_jitter,
  retry_delay_ms, retry_max_delay_ms, timeout_ms, payload, workflow_id, node_name)
select sample(n), 'flows', 'x', 'flows', 2, ${at(-10)}, 3, 'fixed', 'none', 0, 0, 1000, '{}',
  case when n = 25 then sample(21) else sample(20) end, 'n' || n
from generate_series(25, 29) as n;
insert into workflows (id, tenant, name, status, failure_policy, holds_key, created_at, completed_at, nodes, edges, open, failed)
values (sample(20), 'flows', 'w', 'RUNNING', 'fail_dependents', false, ${at(-10)}, null, 4, 2, 2, 1),
       (sample(21), 'flows', 'w', 'FAILED', 'fail_dependents', false, ${at(-10)}, now(), 1, 0, 0, 1);
insert into workflow_nodes (id, workflow_id, position, name, trigger_rule, parents, failed, ended, triggered_at, settled)
values (sample(25), sample(21), 0, 'n25', 'all_succeeded', 0, 0, 'failed', now(), true),
       (sample(26), sample(20), 0, 'n26', 'all_succeeded', 0, 0, 'failed', now(), true),
       (sample(27), sample(20), 1, 'n27', 'one_failed', 1, 1, 'skipped', null, true),
       (sample(28), sample(20), 2, 'n28', 'all_succeeded', 0, 0, null, now(), false),
       (sample(29), sample(20), 3, 'n29', 'all_succeeded', 1, 0, null, null, false);
insert into workflow_edges values (sample(26), sample(27)), (sample(28), sample(29));
insert into outcomes (id, status, completed_at, attempt, failures, crashes, undelivered, snoozes, releases, run, reason)
values (sample(25), 'FAILED', now(), 0, 0, 0, 0, 0, 0, 1, 'dependency'), (sample(26), 'FAILED', now(), 0, 0, 0, 0, 0, 0, 1, 'dependency'),
       (sample(27), 'CANCELLED', now(), 0, 0, 0, 0, 0, 0, 1, 'skipped');
insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, timeout_ms, workflow_id, blockers, due_at, wake_at)
values (sample(28), 5, 'SCHEDULED', 'flows', 'flows', 'x', 2, 1000, sample(20), 0, ${at(5)}, ${at(5)}),
       (sample(29), 5, 'BLOCKED', 'flows', 'flows', 'x', 2, 1000, sample(20), 1, null, null);`

beforeAll(async () => {
  database = await createDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(SAMPLES)
  await client.query(WORKFLOWS)
})
afterAll(async () => {
  await client.end()
  await database.drop()
})
beforeEach(() => client.query('begin'))
afterEach(() => client.query('rollback'))

test('a sound store violates none', async () => {
  expect(await checkInvariants(client)).toEqual([])
})

const damages: Readonly<Record<string, readonly string[]>> = {
  'a task is open or finished, never both and never neither': [
    'delete from open_tasks where id = sample(2)',
    `insert into open_tasks (id, partition, status, tenant, queue, task_type, priority, timeout_ms, due_at, wake_at, attempt)
     values (sample(5), 5, 'RETRYING', 'acme', 'default', 'x', 2, 1, ${at(1)}, ${at(1)}, 0)`,
  ],
  'nothing is open or finished without having been asked for': [
    'delete from tasks where id = sample(2)',
    'delete from tasks where id = sample(6)',
  ],
  'what is open and what was asked agree, also after an edit': [
    `update tasks set queue = 'other' where id = sample(1)`,
    'update open_tasks set timeout_ms = 2 where id = sample(2)',
  ],
  'no delayed or retrying task is past its due time': [`update open_tasks set due_at = ${at(-1)} where id = sample(2)`],
  'no task waits past its expiry': [`update open_tasks set expires_at = ${at(-1)} where id = sample(1)`],
  'no running task is past its deadline and grace': [`update open_tasks set wake_at = ${at(-1)} where id = sample(3)`],
  'no running task without a live session': [
    'update worker_sessions set ended_at = now()',
    `update worker_sessions set live_until = ${at(-1)}`,
    'delete from worker_sessions',
  ],
  'a session holds no more tasks than it has slots': ['update worker_sessions set slots = 0'],
  'a session holds at most one suspect': [
    `update open_tasks set status = 'RUNNING', attempt = 1, crashes = 1, session = sample(100), token = 1, grant_no = 1, started_at = now(),
       deadline_at = ${at(1)}, wake_at = ${at(1)} where id = sample(2)`,
  ],
  'no grant has a number that its session has not given yet': ['update session_grants set last_grant = 2'],
  'the dead letters are the dead tasks that nobody discarded': [
    'delete from dead_letters',
    'update outcomes set discarded_at = now() where id = sample(4)',
    `insert into dead_letters values (sample(6), 'acme', 'default', 'x', now())`,
  ],
  'the counts of dead letters are those of each group': [
    'delete from dead_letter_counts where slot = 2',
    `update dead_letters set fingerprint = 'fedcba9876543210'`,
    `insert into dead_letter_counts values ('acme', 'gone', 'x', '0123456789abcdef', 1, 1)`,
  ],
  'an operation on many tasks counts each of them once': [
    'update bulk_operations set matched = 4',
    'update bulk_operations set failed = 1',
  ],
  'the counters are the waiting tasks of each lane': [
    'update counters set depth = depth + 1 where slot = 2',
    `insert into counters values ('gone', 1, 'acme', '', 1, 1)`,
    'delete from counters',
  ],
  'a key belongs to a task of its tenant that carries it': [
    'update idempotency_keys set task_id = sample(2) where key = $$key-5$$',
    `update idempotency_keys set tenant = 'other' where key = 'key-5'`,
    `insert into idempotency_keys values ('acme', 'lost', sample(99), '', now())`,
  ],
  'an open task with a key is found by it': [`delete from idempotency_keys where key = 'key-1'`],
  'every attempt that did not succeed left its record': [
    'delete from failed_attempts where task_id = sample(4)',
    'update outcomes set attempt = 2 where id = sample(5)',
  ],
  'the counts of a run do not exceed its records': [
    'update outcomes set failures = 2 where id = sample(4)',
    'update open_tasks set crashes = 2 where id = sample(3)',
  ],
  'runs are numbered without a gap': ['delete from runs', 'update outcomes set run = 2 where id = sample(5)'],
  'the partition of an open task stands in its id': ['update open_tasks set partition = 6 where id = sample(1)'],
  'what a worker ended carries its fence': ['update outcomes set token = null where id = sample(5)'],
  'time does not run backwards': [
    `update outcomes set completed_at = ${at(-2)} where id = sample(5)`,
    `update outcomes set started_at = ${at(-20)} where id = sample(5)`,
  ],
  'a firing that makes a task made one': [
    'delete from tasks where id = sample(8)',
    'update tasks set cron_id = sample(201) where id = sample(7)',
    `update cron_firings set task_id = sample(9) where outcome = 'fired'`,
  ],
  'a task of a recurring task has its one firing': [
    `delete from cron_firings where outcome = 'triggered'`,
    'update tasks set cron_id = sample(200) where id = sample(1)',
    'insert into cron_firings select cron_id, now(), tenant, now(), outcome, task_id from cron_firings where task_id = sample(7)',
  ],
  'what is open of a recurring task says so': [
    'update open_tasks set cron_id = null where id = sample(7)',
    'update tasks set cron_id = null where id = sample(8)',
  ],
  "a tenant's recurring tasks are counted": [
    'update cron_tenants set definitions = definitions + 1',
    'delete from cron_tasks',
    `delete from cron_tenants where tenant = 'acme'`,
  ],
  'no recurring task is past its time': [`update cron_tasks set wake_at = ${at(-1)}`],
  'what waits for an older task of its recurring task does not wait in vain': [
    'update open_tasks set cancel_requested_at = null where id = sample(7)',
    'delete from open_tasks where id = sample(7)',
    'update open_tasks set cron_id = sample(201) where id = sample(8)',
  ],
  'a workflow runs exactly while a task of it is open': [
    'update workflows set open = 1 where id = sample(20)',
    'delete from open_tasks where id = sample(29)',
  ],
  'a task of a workflow is a node of it, and a node is a task': [
    `update tasks set node_name = 'other' where id = sample(28)`,
    'delete from workflow_nodes where id = sample(25)',
    'delete from workflows where id = sample(21)',
    'delete from tasks where id = sample(25)',
  ],
  'a node has ended as its task has': [
    `update workflow_nodes set ended = 'cancelled' where id = sample(27)`,
    `update workflow_nodes set ended = 'succeeded' where id = sample(28)`,
    `update outcomes set reason = 'cancelled' where id = sample(27)`,
  ],
  'a node waits for others exactly until it was judged to run': [
    'update workflow_nodes set triggered_at = now() where id = sample(29)',
    'update workflow_nodes set triggered_at = null where id = sample(28)',
  ],
  'a node counts the parents that told it of their ends, each once': [
    'update workflow_nodes set succeeded = 1 where id = sample(29)',
    'update workflow_nodes set failed = 0 where id = sample(27)',
    'delete from workflow_edges where child = sample(29)',
  ],
  'an end that was not passed on yet is kept to be': [
    'update workflow_nodes set settled = false where id = sample(25)',
    'insert into unsettled_ends (workflow_id, node) values (sample(21), sample(25))',
  ],
  'every end of a node was passed on': ['update workflow_nodes set settled = false where id = sample(25)'],
  'no node runs before its trigger rule says so': [
    'update workflow_nodes set triggered_at = now() where id = sample(29)',
    `update workflow_nodes set trigger_rule = 'all_succeeded', triggered_at = now() where id = sample(27)`,
  ],
  'nothing of a workflow is left to be cancelled': [
    `update workflows set sweep_reason = 'workflow_failed' where id = sample(20)`,
  ],
  'no node waits for parents that have all ended': ['update workflow_nodes set failed = 1 where id = sample(29)'],
  'a node is judged once a run': [
    `insert into task_events (task_id, at, transition, to_status, actor)
     select sample(27), now(), 'skip', 'CANCELLED', 'dependency' from generate_series(1, 2)`,
  ],
  'the figures of a workflow are those of its nodes': [
    'update workflows set nodes = 5 where id = sample(20)',
    'update workflows set failed = 0 where id = sample(20)',
  ],
  'a workflow has failed exactly if a failure was taken in by no other node': [
    `update workflows set status = 'SUCCEEDED' where id = sample(21)`,
    `update workflow_nodes set ended = 'succeeded' where id = sample(25)`,
  ],
  'a workflow has succeeded only if a task of it did, and was cancelled only if that was asked for or nothing of it succeeded':
    [
      `update workflows set status = 'SUCCEEDED' where id = sample(21)`,
      'update workflows set cancel_requested_at = now() where id = sample(21)',
      `update workflows set status = 'CANCELLED' where id = sample(21); update workflow_nodes set ended = 'succeeded' where id = sample(25)`,
    ],
}

test('each invariant has damages that it must see', () => {
  expect(Object.keys(damages)).toEqual(invariants.map(({ name }) => name))
})

test.each(Object.entries(damages).flatMap(([rule, list]) => list.map((damage) => ({ rule, damage }))))(
  '$rule: $damage',
  async ({ rule, damage }) => {
    await client.query(damage)
    expect(await checkInvariants(client)).toContainEqual(expect.objectContaining({ point: 7, rule }))
  },
)

test('those for a store at rest are left out under load', async () => {
  await client.query('update counters set depth = depth + 1')
  expect(await checkInvariants(client, { atRest: false })).toEqual([])
})

test('the history tells each task with its past', async () => {
  const history = await readHistory(client)
  expect(history).toHaveLength(13)
  expect(history[2]).toMatchObject({ mark: 'm', status: 'RUNNING', isOpen: true, attempt: 2, crashes: 1, token: 7n })
  expect(history[2]?.attempts).toEqual([
    { attempt: 1, outcome: 'lost', startedAt: expect.any(Number), endedAt: expect.any(Number) },
  ])
  expect(history[5]).toMatchObject({
    status: 'CANCELLED',
    isOpen: false,
    pastRuns: [{ status: 'CANCELLED', reason: null, attempt: 1, archivedAt: expect.any(Number) }],
    workflowId: null,
    run: 2,
    startedAt: null,
    token: null,
  })
})
