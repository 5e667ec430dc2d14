// An example worker. `npm start` runs it; alone: npx duly worker examples/worker.mjs
import { defineTask, Worker } from '@duly/sdk'
import { alwaysFails, flaky } from './handlers/failing.mjs'
import { fetchUrl } from './handlers/fetch-url.mjs'
import { hashFile } from './handlers/hash-file.mjs'
import { sendEmail } from './handlers/send-email.mjs'

/** @param {import('@duly/sdk').Duly} duly a client for the server to work for */
export default function exampleWorker(duly) {
  return new Worker(duly, { name: 'example', queues: ['default', 'email-queue'], slots: 10 })
    .handle(defineTask('send_email'), sendEmail)
    .handle(defineTask('fetch_url'), fetchUrl)
    .handle(defineTask('hash_file'), hashFile)
    .handle(defineTask('flaky'), flaky)
    .handle(defineTask('always_fails'), alwaysFails)
}
