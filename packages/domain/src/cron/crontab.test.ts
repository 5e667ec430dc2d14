import { describe, expect, it } from 'vitest'
import { isName, limits } from '../limits.js'
import { type CrontabOptions, parseCrontab } from './crontab.js'

/** What became of each line, in one word or in what was taken. */
function read(text: string, options: Partial<CrontabOptions> = {}) {
  return parseCrontab(text, { timezone: 'UTC', ...options }).map((line) => {
    if ('taken' in line)
      return `${line.taken.schedule.expression} ${line.taken.schedule.timezone} ${line.taken.payload.command}`
    return 'refused' in line ? `refused: ${line.refused}` : `ignored: ${line.ignored}`
  })
}

const taken = (text: string, options: Partial<CrontabOptions> = {}) =>
  parseCrontab(text, { timezone: 'UTC', ...options }).flatMap((line) => ('taken' in line ? [line.taken] : []))

describe('parseCrontab', () => {
  it('reads a crontab as it is found on a machine', () => {
    const text = [
      '# m h  dom mon dow   command',
      '',
      'SHELL=/bin/bash',
      'MAILTO="ops@example.com"',
      'PATH = /usr/bin:/bin',
      'RANDOM_DELAY=30',
      '  # backups',
      '30 2 * * *\t/usr/local/bin/backup.sh --full   # not a comment',
      '*/5\t*  * * *  curl -fsS https://example.com/ping > /dev/null 2>&1',
      '@daily /usr/bin/report',
      '@reboot /usr/bin/warm-up',
      '61 * * * * echo never',
      '0 9 * * 1-5',
      'hello world',
    ].join('\n')
    expect(read(text)).toEqual([
      'ignored: comment',
      'ignored: blank',
      'ignored: variable: commands see the environment of the worker, not this SHELL',
      'ignored: variable: no mail is sent; look for tasks that are FAILED or DEAD',
      'ignored: variable: commands see the environment of the worker, not this PATH',
      'ignored: variable: nothing is delayed at random; jitter_seconds moves each by a constant',
      'ignored: comment',
      '30 2 * * * UTC /usr/local/bin/backup.sh --full   # not a comment',
      '*/5 * * * * UTC curl -fsS https://example.com/ping > /dev/null 2>&1',
      '@daily UTC /usr/bin/report',
      expect.stringMatching(/^refused: .*"@reboot" is not taken/),
      expect.stringMatching(/^refused: .*minute: 61 is out of range/),
      'refused: it has no command',
      'refused: it has fewer than five fields',
    ])
  })

  it('gives back each line with its number and text', () => {
    const lines = parseCrontab('# a\r\n@hourly b\r\n', { timezone: 'UTC' })
    expect(lines.map(({ line, text }) => [line, text])).toEqual([
      [1, '# a'],
      [2, '@hourly b'],
    ])
  })

  it.each([
    ['no line', '', 0],
    ['an end of line alone', '\n', 1],
    ['no end of the last line', '@daily a\n@daily b', 2],
    ['Windows line ends', '@daily a\r\n@daily b\r\n', 2],
  ])('takes %s', (_, text, count) => {
    expect(read(text)).toHaveLength(count)
    expect(read(text).filter((outcome) => outcome.startsWith('refused'))).toEqual([])
  })

  it('sets the time zone for what follows, and the one of the call again when it is emptied', () => {
    const text = 'CRON_TZ=Asia/Kolkata\n@daily a\nTZ="Europe/Paris"\n@daily b\nCRON_TZ=\n@daily c'
    expect(read(text, { timezone: 'America/New_York' }).filter((outcome) => outcome.startsWith('@'))).toEqual([
      '@daily Asia/Kolkata a',
      '@daily Europe/Paris b',
      '@daily America/New_York c',
    ])
  })

  it('refuses what follows a time zone that is none, until one is known again', () => {
    const outcomes = read('@daily a\nCRON_TZ=Mars/Phobos\n@daily b\nSHELL=/bin/sh\n@daily c\nCRON_TZ=UTC\n@daily d')
    expect(outcomes).toEqual([
      '@daily UTC a',
      expect.stringMatching(/^refused: "Mars\/Phobos" is not a time zone/),
      'refused: its time zone is not known: see line 2',
      expect.stringMatching(/^ignored/),
      'refused: its time zone is not known: see line 2',
      'ignored: variable: what follows is in UTC',
      '@daily UTC d',
    ])
    expect(() => read('', { timezone: 'Mars/Phobos' })).toThrow(/not a time zone/)
  })

  it('takes what follows a percent sign as input of the command', () => {
    expect(taken('0 0 1 * * mail -s "Hi" ada%Dear Ada,%%Yours')[0]?.payload).toEqual({
      command: 'mail -s "Hi" ada',
      stdin: 'Dear Ada,\n\nYours\n',
    })
    expect(taken('0 0 * * * date +\\%F > a')[0]?.payload).toEqual({ command: 'date +%F > a' })
  })

  it('takes the user of a system crontab apart', () => {
    const text = '17 *\t* * *\troot\tcd / && run-parts /etc/cron.hourly\n@daily ada report\n@daily ada'
    expect(taken(text, { hasUser: true }).map(({ payload }) => payload)).toEqual([
      { command: 'cd / && run-parts /etc/cron.hourly', user: 'root' },
      { command: 'report', user: 'ada' },
    ])
    expect(read(text, { hasUser: true })[2]).toBe('refused: it has no user or no command')
  })

  it('refuses what cron daemons understand in another way', () => {
    expect(read('0~30 3 * * * a\n~ 3 * * * a')).toEqual(Array(2).fill(expect.stringMatching(/^refused: random times/)))
    expect(read('0 0 */3 * 1-5 a\n0 0 1 * */2 a')).toEqual([
      expect.stringMatching(/^refused: day of month and day of week are both restricted/),
      expect.stringMatching(/^refused: day of month and day of week are both restricted/),
    ])
    expect(
      read('0 0 */3 * * a\n0 0 * * */2 a\n0 0 13 * 5 a').filter((outcome) => outcome.startsWith('refused')),
    ).toEqual([])
  })

  it('gives names that are valid, differ, and stay when the schedule or another line changes', () => {
    const names = (text: string) => taken(text).map(({ name }) => name)
    const commands = ['/opt/a b', '/opt/a-b', '/opt/a b', '$(x)', 'é', 'a'.repeat(500)]
    const first = names(commands.map((command) => `@daily ${command}`).join('\n'))
    expect(first).toHaveLength(6)
    expect(new Set(first).size).toBe(6)
    expect(first.filter((name) => !isName(name))).toEqual([])
    expect(first[0]).toMatch(/^opt-a-b-[0-9a-z]+$/)
    expect(first[2]).toBe(`${first[0]}-2`)
    const moved = ['@daily new', ...commands.map((command) => `5 4 * * * ${command}`)].join('\n')
    expect(names(moved).slice(1)).toEqual(first)
  })

  it('refuses what is too large', () => {
    expect(read('\n'.repeat(limits.crontabMaxLines))).toHaveLength(limits.crontabMaxLines)
    expect(() => read('\n'.repeat(limits.crontabMaxLines + 1))).toThrow(/10000 lines/)
    expect(() => read('é'.repeat(limits.crontabMaxBytes / 2 + 1))).toThrow(/bytes at most/)
  })

  it('reads the largest one in one go', () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `${index % 60} 3 * * * ${'x'.repeat(80)}${index}`).join(
      '\n',
    )
    expect(taken(text)).toHaveLength(10_000)
  })
})
