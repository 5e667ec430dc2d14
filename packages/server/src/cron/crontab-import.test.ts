import { expect, test } from 'vitest'
import { importCrontab } from './crontab-import.js'
import { definition } from './testing/cron-node.js'

test('a crontab that is judged only lets others have their turns in between', async () => {
  const { name: _, ...common } = definition()
  const crontab = '0 3 * * * backup\n'.repeat(300)
  let turns = 0
  let isOver = false
  const countTurn = (): void => {
    turns++
    if (!isOver) setImmediate(countTurn)
  }
  setImmediate(countTurn)
  const put = () => Promise.reject(new Error('nothing is stored'))
  const request = { crontab, namePrefix: '', hasUser: false, dryRun: true, common }
  const lines = await importCrontab(request, { judge: () => {}, put })
  isOver = true
  expect(lines.map(({ result }) => result)).toEqual(Array(300).fill('would_import'))
  expect(turns).toBeGreaterThanOrEqual(50)
})
