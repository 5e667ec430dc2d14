import { setImmediate as nextTurn } from 'node:timers/promises'
import { type CrontabLine, DulyError, isName, parseCrontab } from '@duly/domain'
import type { CronDefinition, CronPut, CrontabImport, ImportedLine, PutResult } from '../model.js'

export interface ImportSteps {
  /** Throws what a put would be refused with. */
  readonly judge: (definition: CronDefinition) => void
  readonly put: (definition: CronPut) => Promise<PutResult>
}

/** Lines that are stored at the same time: fewer than there are connections for it. */
const width = 3

/**
 * Takes a crontab line by line. Names come from the commands, so that the same crontab again, or one with other times, replaces what
 * it made before and adds nothing.
 * @throws DulyError `too_large`, `invalid_request` (its time zone), and `store_unavailable` when the store goes away meanwhile
 */
export async function importCrontab(request: CrontabImport, steps: ImportSteps): Promise<readonly ImportedLine[]> {
  const { crontab, hasUser, common } = request
  const lines = parseCrontab(crontab, { timezone: common.timezone, hasUser })
  const results: ImportedLine[] = []
  for (let from = 0; from < lines.length; from += width) {
    const some = lines.slice(from, from + width)
    results.push(...(await Promise.all(some.map((line) => importLine(line, request, steps)))))
    // a dry run waits for nothing else, and each line may ask for years of clock changes
    await nextTurn()
  }
  return results
}

async function importLine(line: CrontabLine, request: CrontabImport, steps: ImportSteps): Promise<ImportedLine> {
  const base = { line: line.line, text: line.text, id: null, name: null, message: null }
  if ('ignored' in line) return { ...base, result: 'ignored', message: line.ignored }
  if ('refused' in line) return { ...base, result: 'refused', message: line.refused }
  const name = `${request.namePrefix}${line.taken.name}`
  if (!isName(name)) return { ...base, result: 'refused', name, message: 'its name, with the prefix, is too long' }
  const { schedule, payload } = line.taken
  const template = { ...request.common.template, payload: JSON.stringify(payload) }
  const { expression, timezone } = schedule
  const definition: CronPut = { ...request.common, name, expression, timezone, template }
  try {
    if (request.dryRun) {
      steps.judge({ ...definition, enabled: true })
      return { ...base, result: 'would_import', name }
    }
    const { record, result } = await steps.put(definition)
    return { ...base, result, id: record.id, name }
  } catch (error) {
    if (!(error instanceof DulyError) || error.status >= 500) throw error
    return { ...base, result: 'refused', name, message: error.message }
  }
}
