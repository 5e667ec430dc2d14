const KiB = 1_024
const MiB = 1_024 * KiB
const dayMs = 24 * 60 * 60 * 1_000

/**
 * Every limit on input, with its unit in its name. Bytes are those of UTF-8; `…Chars` are UTF-16 code units, as `length` counts.
 * What an operator can set carries `default` and `settable` beside it.
 */
export const limits = {
  /** Default for payload and result each; an operator can raise it to `settablePayloadMaxBytes`. */
  payloadMaxBytes: 1 * MiB,
  resultMaxBytes: 1 * MiB,
  settablePayloadMaxBytes: 16 * MiB,
  /** A longer body is cut off while it arrives, not read. */
  singleBodyMaxBytes: 2 * MiB,
  batchBodyMaxBytes: 64 * MiB,
  /** Task type, queue, tenant, cron task, workflow node. */
  nameMaxChars: 128,
  idempotencyKeyMaxChars: 256,
  concurrencyKeyMaxChars: 256,
  metadataMaxBytes: 16 * KiB,
  tagsMaxCount: 20,
  tagMaxChars: 64,
  maxRetriesMin: 0,
  maxRetriesMax: 100,
  timeoutMinMs: 100,
  timeoutMaxMs: 7 * dayMs,
  /** 1970-01-01T00:00:00.000Z. */
  instantMinMs: 0,
  /** 9999-12-31T23:59:59.999Z. */
  instantMaxMs: 253_402_300_799_999,
  /** Ten years, which have at most three leap days. */
  delayMaxMs: 3_653 * dayMs,
  batchMaxItems: 10_000,
  workflowMaxNodes: 10_000,
  workflowMaxEdges: 100_000,
  /** Results of dependencies that come along with a task, in all; the others are fetched. */
  dependencyResultsMaxBytes: 1 * MiB,
  /** Names of one call for results of dependencies. */
  dependencyResultsMaxItems: 100,
  pollMaxSlots: 500,
  waitMaxSeconds: 60,
  checkpointMaxBytes: 256 * KiB,
  logsMaxLinesPerTask: 10_000,
  logsMaxBytesPerTask: 1 * MiB,
  /** Lines of a page of a log. */
  logsMaxItems: 1_000,
  /** How long after its attempt was reported a line is still taken, ms: the last ones may travel slower than the report. */
  logsGraceMs: 60_000,
  queuesMaxCount: 10_000,
  taskTypesMaxCount: 10_000,
  tenantsMaxCount: 1_000_000,
  /** Live ones, of each tenant, and of those that are bound to none. */
  apiKeysMaxCount: 1_000,
  /** Operations on many tasks that run at once, of each tenant, and of those that are bound to none. */
  bulkMaxRunning: 100,
  /** Default; an operator can set it. */
  cronTasksMaxPerTenant: 1_000_000,
  /** All sixty minutes as a list take 169. */
  cronExpressionMaxChars: 500,
  /** The shortest distance of firings, `every_seconds` or cron with seconds. */
  cronEveryMinMs: 1_000,
  /** Firings that one look at a definition makes: what `fire_all` makes up for, and what is on time. */
  cronFiringsMaxPerLook: 100,
  crontabMaxBytes: 1 * MiB,
  crontabMaxLines: 10_000,
  timeZoneMaxChars: 64,
  cronGraceMaxMs: 30 * dayMs,
  cronJitterMaxMs: 1 * dayMs,
  /** Fire times of one answer. */
  cronFireTimesMaxItems: 100,
  /** Items of a page of runs, which have whole errors with their stacks. */
  runsMaxItems: 100,
  /** Levels of arrays and objects in a body, the payload included. */
  jsonMaxDepth: 100,
  /** Keys and values in a body, together: what a node may have to look at before it answers others again. */
  jsonMaxParts: 2_000_000,
  /** Keys of one object of a body that is looked into: payloads, results and checkpoints are not. */
  jsonMaxKeys: 10_000,
  /** Error texts of workers are cut to these at character borders. */
  errorClassMaxChars: 200,
  errorMessageMaxBytes: 8 * KiB,
  errorStackMaxBytes: 32 * KiB,
} as const

/** The source of the pattern of a name (task type, queue, tenant, cron task, node), as JSON Schema takes it. */
export const namePattern = `^[A-Za-z0-9._:/-]{1,${limits.nameMaxChars}}$`

const nameExpression = new RegExp(namePattern)

/** Whether the text is a valid name. `!` is not among its characters, so reserved gates never meet a name. */
export function isName(text: string): boolean {
  return nameExpression.test(text)
}
