// A worker for the commands of an imported crontab, on the machine on which they are meant to run:
//   npx duly worker examples/crontab-worker.mjs
// Whoever may submit to its queue may run commands here: give the queue to nobody else, and run it as a user who may do little.
import { Worker } from '@duly/sdk'
import { runCommand } from './handlers/run-command.mjs'

/** @param {import('@duly/sdk').Duly} duly a client for the server to work for */
export default function crontabWorker(duly) {
  return new Worker(duly, { name: 'crontab', queues: [process.env.CRONTAB_QUEUE ?? 'crontab'], slots: 5 }).handle(
    'run_command',
    runCommand,
  )
}
