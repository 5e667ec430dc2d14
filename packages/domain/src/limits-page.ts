import { limits } from './limits.js'
import { markdownTable } from './markdown.js'

type LimitName = keyof typeof limits

/** Every limit in words, by what it is about. */
const words = {
  Tasks: {
    payloadMaxBytes: 'payload (settable)',
    resultMaxBytes: 'result (settable)',
    settablePayloadMaxBytes: 'most that an operator can set for these two',
    metadataMaxBytes: 'metadata of a task or workflow',
    tagsMaxCount: 'tags of a task',
    tagMaxChars: 'one tag',
    idempotencyKeyMaxChars: 'idempotency key',
    concurrencyKeyMaxChars: 'concurrency key',
    nameMaxChars: 'name of a task type, queue, tenant, recurring task or node; of `A–Z a–z 0–9 . _ - : /`',
    maxRetriesMin: '`max_retries`, at least',
    maxRetriesMax: '`max_retries`, at most',
    timeoutMinMs: 'time limit of an attempt, at least',
    timeoutMaxMs: 'time limit of an attempt, at most',
    delayMaxMs: 'delay, interval, retry delay, time to live of a result',
    instantMinMs: 'earliest instant',
    instantMaxMs: 'latest instant',
  },
  Requests: {
    singleBodyMaxBytes: 'body of a request',
    batchBodyMaxBytes: 'body of a batch, a workflow, or reports',
    batchMaxItems: 'tasks of a batch',
    jsonMaxDepth: 'levels of arrays and objects of a body, the payload included',
    jsonMaxParts: 'keys and values of a body, together',
    jsonMaxKeys: 'keys of one object of a body; not within payloads, results and checkpoints',
    waitMaxSeconds: '`wait_seconds`',
    runsMaxItems: 'past runs of a page',
    logsMaxItems: 'log lines of a page',
    cronFireTimesMaxItems: 'fire times of one answer',
  },
  Workflows: {
    workflowMaxNodes: 'tasks of a workflow, added ones too',
    workflowMaxEdges: 'dependencies of a workflow, in all',
    dependencyResultsMaxBytes: 'results of dependencies that come along with a task, in all; larger ones are fetched',
    dependencyResultsMaxItems: 'results of dependencies of one call for them',
  },
  'Recurring tasks': {
    cronTasksMaxPerTenant: 'recurring tasks of a tenant (settable)',
    cronExpressionMaxChars: 'expression',
    cronEveryMinMs: 'shortest distance of firings',
    cronFiringsMaxPerLook: 'tasks that `fire_all` makes up for',
    cronGraceMaxMs: '`misfire_grace_seconds`',
    cronJitterMaxMs: '`jitter_seconds`',
    timeZoneMaxChars: 'name of a time zone',
    crontabMaxBytes: 'crontab of an import',
    crontabMaxLines: 'lines of a crontab',
  },
  Workers: {
    pollMaxSlots: 'slots of a worker',
    checkpointMaxBytes: 'checkpoint',
    logsMaxLinesPerTask: 'log lines of a task, over all its attempts; more are counted and dropped',
    logsMaxBytesPerTask: 'log of a task, in all; more is counted and dropped',
    logsGraceMs: 'how long after its attempt was reported a line is still taken',
    errorClassMaxChars: 'class of an error; longer ones are cut',
    errorMessageMaxBytes: 'message of an error; longer ones are cut',
    errorStackMaxBytes: 'stack of an error; longer ones are cut',
  },
  Deployment: {
    queuesMaxCount: 'queues',
    taskTypesMaxCount: 'task types',
    tenantsMaxCount: 'tenants that it is made for; not enforced',
    apiKeysMaxCount: 'live API keys of each tenant, and of those that are bound to none',
    bulkMaxRunning: 'operations on many tasks that run at once, of each tenant, and of those that are bound to none',
  },
} as const satisfies Readonly<Record<string, Partial<Readonly<Record<LimitName, string>>>>>

/** The text of docs/reference/limits.md. A test keeps file and limits equal. */
export function renderLimits(): string {
  return [
    '# Limits',
    '',
    'Generated from `packages/domain/src/limits.ts` by `npm run generate`; do not edit.',
    '',
    'What is over a limit is refused whole, before anything of it is stored, with the path of the field, unless the table says that it is',
    'cut or dropped. Texts are counted in UTF-16 units, sizes in bytes of UTF-8. What is settable stands in',
    '[configuration](configuration.md).',
    '',
    ...Object.entries(words).flatMap(([group, rows]) => [`## ${group}`, '', ...tableOf(rows), '']),
  ].join('\n')
}

function tableOf(rows: Readonly<Record<string, string>>): string[] {
  return markdownTable(
    ['What', 'Limit'],
    Object.entries(rows).map(([name, what]) => [what, limitText(name as LimitName)]),
  )
}

const grouped = (value: number): string => value.toLocaleString('en-US')

/** The unit stands in the name. */
function limitText(name: LimitName): string {
  const value: number = limits[name]
  if (name.startsWith('instant')) return new Date(value).toISOString()
  if (/Bytes/.test(name)) return value >= MIB ? `${grouped(value / MIB)} MiB` : `${grouped(value / 1_024)} KiB`
  if (name.endsWith('Ms')) return durationOf(value)
  if (name.endsWith('Seconds')) return `${value} s`
  return name.endsWith('Chars') ? `${grouped(value)} characters` : grouped(value)
}

const MIB = 1_024 * 1_024
const DAY_MS = 86_400_000

function durationOf(ms: number): string {
  if (ms < DAY_MS) return `${grouped(ms / 1_000)} s`
  const days = ms / DAY_MS
  return days === 1 ? '1 day' : `${grouped(days)} days`
}
