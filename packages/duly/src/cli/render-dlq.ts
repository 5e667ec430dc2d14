import type { BulkPreview, BulkRecord, DeadLetter, DeadLetterSummary } from '@duly/sdk'
import { facts, table } from './table.js'

/** The beginning of a text that must not break a table. */
const shortened = (text: string, most = 80): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)

const instant = (at: Date | null): string | null => at?.toISOString() ?? null

export function renderLetters(letters: readonly DeadLetter[]): string {
  if (letters.length === 0) return 'No dead letters.\n'
  const rows = letters.map((letter) => [
    ...[letter.id, letter.taskType, letter.queue, letter.tenantId, instant(letter.diedAt), letter.attempts],
    ...[letter.fingerprint, `${letter.error.class}: ${shortened(letter.error.message, 60)}`],
  ])
  return table(['TASK', 'TYPE', 'QUEUE', 'TENANT', 'DIED', 'ATTEMPTS', 'FINGERPRINT', 'ERROR'], rows)
}

export function renderLetterSummary({ letters, groups, items, isComplete }: DeadLetterSummary): string {
  if (items.length === 0) return 'No dead letters.\n'
  const rows = items.map((group) => [
    ...[group.letters, group.queue, group.taskType, instant(group.oldestAt), instant(group.newestAt)],
    ...[group.fingerprint, group.sampleTaskId, `${group.errorClass}: ${shortened(group.errorPattern)}`],
  ])
  const headings = ['LETTERS', 'QUEUE', 'TYPE', 'OLDEST', 'NEWEST', 'FINGERPRINT', 'NEWEST TASK', 'ERROR']
  const shown =
    items.length < groups ? `the ${items.length} largest of ${counted(groups, 'group')}` : counted(groups, 'group')
  return `${table(headings, rows)}${counted(letters, 'dead letter')} in ${shown}${isComplete ? '' : ', and more'}\n`
}

export const counted = (count: number, thing: string): string => `${count} ${thing}${count === 1 ? '' : 's'}`

/** E.g. `12 tasks (11 PENDING, 1 RUNNING)`; `at least` when the look stopped at its bound. */
export function matchedText({ matched, atLeast, byStatus }: BulkPreview): string {
  if (matched === 0 && atLeast) return 'none of the newest tasks, which were looked at; older ones may fit'
  const parts = Object.entries(byStatus).map(([status, count]) => `${count} ${status}`)
  const statuses = parts.length === 0 ? '' : ` (${parts.join(', ')})`
  return `${atLeast ? 'at least ' : ''}${counted(matched, 'task')}${statuses}`
}

export function renderPreview(preview: BulkPreview): string {
  const rows = preview.samples.map((task) => [task.id, task.status, task.taskType, task.queue, task.tenantId])
  const samples = rows.length === 0 ? '' : table(['TASK', 'STATUS', 'TYPE', 'QUEUE', 'TENANT'], rows)
  const more = preview.matched > rows.length ? 'and others\n' : ''
  return `would ${preview.action} ${matchedText(preview)}\n${samples}${more}`
}

export function renderBulk(record: BulkRecord): string {
  const filter = Object.entries(record.filter).map(([name, value]) => `${name}=${value}`)
  return facts([
    ['operation', record.id],
    ['status', record.status],
    ['action', record.action],
    ['of', record.source === 'tasks' ? 'tasks' : 'dead letters'],
    ['filter', filter.length === 0 ? '(all)' : filter.join(' ')],
    ['done', record.done],
    ['skipped', record.skipped === 0 ? null : `${record.skipped} (their state had changed)`],
    ['failed', record.failed === 0 ? null : record.failed],
    ['error', record.error],
    ['by', record.actor],
    ['created', instant(record.createdAt)],
    ['completed', instant(record.completedAt)],
  ])
}

export function renderBulks(records: readonly BulkRecord[]): string {
  if (records.length === 0) return 'No operations.\n'
  const rows = records.map((record) => [
    ...[record.id, record.status, record.action, record.source, record.done, record.skipped, record.failed],
    ...[instant(record.createdAt), instant(record.completedAt), record.actor],
  ])
  const headings = ['OPERATION', 'STATUS', 'ACTION', 'OF', 'DONE', 'SKIPPED', 'FAILED', 'CREATED', 'COMPLETED', 'BY']
  return table(headings, rows)
}
