import { type Duly, RawJson, rawOf, type WorkflowFilters, type WorkflowHandle, type WorkflowRecord } from '@duly/sdk'
import type { Command } from 'commander'
import { exitCode } from '../cli/exit-codes.js'
import type { Canvas } from '../cli/graph/canvas.js'
import { drawGraph } from '../cli/graph/draw-graph.js'
import { readJson } from '../cli/json-input.js'
import type { PageRequest } from '../cli/pages.js'
import { ProgressDisplay, workflowLine } from '../cli/progress-line.js'
import { Redrawing } from '../cli/redrawing.js'
import { renderWorkflow, renderWorkflows, workflowHeading } from '../cli/render-workflow.js'
import { parseSeconds } from '../cli/seconds.js'
import { followWorkflow } from '../run/follow-workflow.js'
import { type ClientOptions, type Context, clientCommand, print, withClient } from './command.js'
import { filtersIn, type PagedFlags, showPages, withPages } from './paged-list.js'

/** A command on one workflow. */
const onWorkflow = (name: string, summary: string): Command =>
  clientCommand(name, summary, `duly workflow ${name} wf-01kf3v7q2n8f5w9r6x4y1z0abc`).argument(
    '<id>',
    'id of the workflow',
  )

const waitLimit = (text: string): number => parseSeconds(text, '--wait')

interface SubmitFlags extends ClientOptions {
  readonly idempotencyKey?: string
  /** Seconds at most; true: without a limit. */
  readonly wait?: true | number
}

const SUBMIT_EXAMPLE = [
  'duly workflow submit examples/onboarding.json --wait',
  'cat workflow.json | duly workflow submit - --idempotency-key onboarding-7',
].join('\n')

function submit(context: Context): Command {
  return clientCommand('submit', 'submit a workflow: a graph of tasks', SUBMIT_EXAMPLE)
    .argument('<file>', 'JSON as the API takes it: {"workflow_name": …, "tasks": […]}; or - for standard input')
    .option('--idempotency-key <key>', 'the same key and the same file make one workflow')
    .option('--wait [duration]', 'wait until it has ended, or that long at most', waitLimit)
    .action(async (file: string, flags: SubmitFlags) => {
      const workflow = await readJson('the workflow', file === '-' ? file : `@${file}`, context.terminal)
      await withClient(flags, (duly) => submitOne(context, { duly, flags, workflow }))
    })
}

async function submitOne(
  context: Context,
  { duly, flags, workflow }: { readonly duly: Duly; readonly flags: SubmitFlags; readonly workflow: RawJson },
): Promise<void> {
  const { idempotencyKey, wait } = flags
  const handle = await duly.workflows.submit(workflow, idempotencyKey === undefined ? {} : { idempotencyKey })
  if (!wait) return printReceipt(context, flags, handle)
  context.terminal.err(flags.json ? '' : `${handle.id} submitted, waiting …\n`)
  await waitFor(context, { duly, id: handle.id, flags: { ...flags, wait } })
}

interface WaitFlags extends ClientOptions {
  readonly wait: true | number
}

/** Shows how far it is until it has ended, and then the whole of it. */
async function waitFor(
  context: Context,
  { duly, id, flags }: { readonly duly: Duly; readonly id: string; readonly flags: WaitFlags },
): Promise<void> {
  const { wait, json } = flags
  const display = new ProgressDisplay(context.terminal)
  const onLook = (workflow: WorkflowRecord): void => {
    if (!json) display.showLine(() => workflowLine(workflow), workflow.status !== 'RUNNING')
  }
  const limitMs = wait === true ? null : wait * 1_000
  const tell = (note: string) => display.note(note)
  const workflow = await followWorkflow(context, { duly, id, limitMs, onLook, tell })
  if (workflow === undefined) return
  if (workflow.status === 'RUNNING' && !json) display.showLine(() => workflowLine(workflow), true)
  if (workflow.status !== 'SUCCEEDED') context.setExit(exitCode('failed'))
  print(context, flags, workflow, renderWorkflow)
}

function printReceipt({ terminal }: Context, flags: SubmitFlags, handle: WorkflowHandle): void {
  const { receipt, isReplay } = handle
  if (!flags.json) {
    terminal.out(`${handle.id}  ${receipt.status}${isReplay ? '  (submitted before, with the same key)' : ''}\n`)
    return
  }
  const answered = rawOf(receipt)?.text ?? '{}'
  terminal.out(`${new RawJson(`${answered.slice(0, -1)},"replayed":${isReplay}}`).format(2)}\n`)
}

type ListFlags = WorkflowFilters & PagedFlags

const LIST_EXAMPLE = 'duly workflow list --status FAILED --name user-onboarding'

function list(context: Context): Command {
  const command = clientCommand('list', 'list workflows, the newest first', LIST_EXAMPLE)
    .option('--status <status>', 'RUNNING, SUCCEEDED, FAILED or CANCELLED', (text) => text.toUpperCase())
    .option('--name <name>', 'of exactly this name')
    .option('--tenant <id>', 'of this tenant')
    .option('--created-after <instant>', 'created then or later, e.g. 2026-04-03T00:00:00Z')
    .option('--created-before <instant>', 'created before that instant')
  return withPages(command, 'workflow').action((flags: ListFlags) =>
    withClient(flags, (duly) => {
      const fetch = (request: PageRequest) => duly.workflows.list(filtersIn(flags), request)
      return showPages(context, flags, { fetch, render: renderWorkflows })
    }),
  )
}

function get(context: Context): Command {
  return onWorkflow('get', 'show a workflow: how it stands, each task of it, the longest chain')
    .option('--wait [duration]', 'wait until it has ended, or that long at most', waitLimit)
    .action((id: string, flags: ClientOptions & { readonly wait?: true | number }) =>
      withClient(flags, async (duly) => {
        const { wait } = flags
        if (wait) return waitFor(context, { duly, id, flags: { ...flags, wait } })
        print(context, flags, await duly.workflows.get(id), renderWorkflow)
      }),
    )
}

function cancel(context: Context): Command {
  return onWorkflow('cancel', 'cancel a workflow: what waits at once; what runs is told').action(
    async (id: string, flags: ClientOptions) => {
      const workflow = await withClient(flags, (duly) => duly.workflows.cancel(id))
      const told =
        workflow.open === 0 ? workflow.status : `${workflow.status}, cancellation requested: ${runs(workflow.open)}`
      print(context, flags, workflow, () => `${workflow.id}  ${told}\n`)
    },
  )
}

const runs = (open: number): string => (open === 1 ? '1 task runs still' : `${open} tasks run still`)

function retry(context: Context): Command {
  return onWorkflow('retry', 'run what failed of a workflow again, and what that blocked; what succeeded stays').action(
    async (id: string, flags: ClientOptions) => {
      const workflow = await withClient(flags, (duly) => duly.workflows.retry(id))
      const told = `${workflow.status}: ${workflow.open} of ${workflow.nodes} tasks run again`
      print(context, flags, workflow, () => `${workflow.id}  ${told}\n`)
    },
  )
}

function graph(context: Context): Command {
  return onWorkflow('graph', 'draw the tasks of a workflow, each below those that it waits for')
    .option('-f, --follow', 'draw it anew while it runs, until it has ended')
    .action((id: string, flags: ClientOptions & { readonly follow?: true }) =>
      withClient(flags, async (duly) => {
        if (flags.follow) return followGraph(context, { duly, id, flags })
        print(context, flags, await duly.workflows.get(id), (workflow) => draw(context, workflow))
      }),
    )
}

async function followGraph(
  context: Context,
  { duly, id, flags }: { readonly duly: Duly; readonly id: string; readonly flags: ClientOptions },
): Promise<void> {
  const drawing = new Redrawing(context.terminal)
  let note = ''
  const onLook = (workflow: WorkflowRecord): void => {
    if (flags.json) return
    const news = workflowLine(workflow)
    // the heading and the note take a line each
    const height = drawing.room === undefined ? {} : { height: drawing.room - 2 }
    if (workflow.status === 'RUNNING') drawing.show(draw(context, workflow, height) + note, news + note)
    else drawing.end(draw(context, workflow), news)
  }
  const tell = (text: string) => {
    note = text
  }
  const workflow = await followWorkflow(context, { duly, id, limitMs: null, onLook, tell })
  if (workflow === undefined) return
  if (flags.json) print(context, flags, workflow, () => '')
  if (workflow.status !== 'SUCCEEDED') context.setExit(exitCode('failed'))
}

function draw({ terminal }: Context, workflow: WorkflowRecord, room: Pick<Canvas, 'height'> = {}): string {
  const { width, hasColours, isPlain } = terminal
  return workflowHeading(workflow) + drawGraph(workflow.graph, { width, hasColours, isPlain, now: new Date(), ...room })
}

/** The commands on workflows. */
export function workflowCommands(context: Context): readonly Command[] {
  return [submit(context), get(context), graph(context), list(context), cancel(context), retry(context)]
}
