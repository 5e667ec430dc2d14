import { duly, sendEmail } from './mail.js'

const handle = await duly.submit(sendEmail, { to: 'a@example.com' }, { delay: '1s', idempotencyKey: 'welcome-1' })
const { message_id } = await handle.result() // throws TaskFailedError when it ends FAILED, DEAD or CANCELLED
console.log(message_id)
