import { encodeId } from '@duly/domain'
import type { DeadLetter, DeadLetterGroup, DeadLetterSummary } from '../model.js'
import { instant, type WritableObject, writeJson } from './write-json.js'

export function letterOf(letter: DeadLetter): WritableObject {
  return {
    task_id: encodeId('task', letter.id),
    tenant_id: letter.tenant,
    task_type: letter.taskType,
    queue: letter.queue,
    created_at: instant(letter.createdAtMs),
    died_at: instant(letter.diedAtMs),
    attempts: letter.attempts,
    failures: letter.failures,
    crashes: letter.crashes,
    error: { class: letter.errorClass, message: letter.errorMessage },
    error_pattern: letter.errorPattern,
    fingerprint: letter.fingerprint,
  }
}

const groupOf = (group: DeadLetterGroup): WritableObject => ({
  fingerprint: group.fingerprint,
  queue: group.queue,
  task_type: group.taskType,
  error_class: group.errorClass,
  error_pattern: group.errorPattern,
  letters: group.letters,
  oldest_at: instant(group.oldestAtMs),
  newest_at: instant(group.newestAtMs),
  sample_task_id: encodeId('task', group.sampleId),
})

export function writeLetterSummary({ letters, groups, items, isComplete }: DeadLetterSummary): string {
  return writeJson({ letters, groups, items: items.map(groupOf), is_complete: isComplete })
}
