import { encodeId, taskStatuses } from '@duly/domain'
import { bigTenant, cronUuid, filledDays, middleTenant, smallTenant, workflowSpan, workflowUuid } from './size-fill.js'

/** A list or a window of figures, as it is asked for. */
export interface Case {
  readonly name: string
  /** Paths with their queries, asked for by turns. */
  readonly paths: readonly string[]
  /** For a list: between which instants, ms since 1970, its tasks were created, so that pages deep inside can be found. */
  readonly span?: readonly [fromMs: number, toMs: number]
}

const dayMs = 86_400_000

/** Every list that an index leads, and every window of figures with each grouping. */
export function casesOf(size: number, firstDayMs: number): readonly Case[] {
  return [...listCases(size, firstDayMs), ...statsCases()]
}

function listCases(size: number, firstDayMs: number): readonly Case[] {
  const finished = [firstDayMs, firstDayMs + filledDays * dayMs] as const
  const nowMs = Date.now()
  const open = [nowMs - dayMs, nowMs] as const
  const msAt = (n: number) => firstDayMs + (filledDays * dayMs * Math.min(n, size)) / size
  const workflow = Math.floor((size - 1) / workflowSpan / 2)
  const inWorkflow = [msAt(workflow * workflowSpan), msAt((workflow + 1) * workflowSpan)] as const
  const list = (name: string, query: Readonly<Record<string, string>>, span: Case['span'] = finished): Case => ({
    name,
    paths: [`/api/v1/tasks?${new URLSearchParams(query)}`],
    span,
  })
  const ofStatuses = (tenant?: string) =>
    taskStatuses.map(({ name: status, open: isOpen }) => {
      const query = tenant === undefined ? { status } : { status, tenant_id: tenant }
      return list(tenant === undefined ? status : `${tenant}, ${status}`, query, isOpen ? open : finished)
    })
  return [
    list('all', {}),
    list(bigTenant, { tenant_id: bigTenant }),
    list(middleTenant, { tenant_id: middleTenant }),
    list(smallTenant, { tenant_id: smallTenant }),
    ...ofStatuses(),
    ...ofStatuses(bigTenant),
    ...ofStatuses(middleTenant),
    ...ofStatuses(smallTenant),
    list('workflow', { workflow_id: encodeId('wf', workflowUuid(workflow)) }, inWorkflow),
    list('cron', { cron_id: encodeId('cron', cronUuid(7)) }),
  ]
}

/** A node answers the same question from memory for a second: so no two calls in a row ask for quite the same window. */
const distinctWindows = 500

function statsCases(): readonly Case[] {
  const windows = { '5 min': [300, 1], '24 h': [86_400, -1], '7 days': [7 * 86_400, -1] } as const
  return Object.entries(windows).flatMap(([name, [seconds, step]]) =>
    ['', 'queue', 'task_type', 'tenant'].map((by) => ({
      name: `stats, ${name}${by === '' ? '' : ` by ${by}`}`,
      paths: Array.from({ length: distinctWindows }, (_, n) => {
        const query = { window_seconds: String(seconds + n * step), ...(by === '' ? {} : { by }) }
        return `/api/v1/stats?${new URLSearchParams(query)}`
      }),
    })),
  )
}
