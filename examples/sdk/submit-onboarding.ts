import { createAccount, duly, removeAccount, sendWelcome } from './onboarding.js'

const workflow = duly.workflow('user-onboarding')
const account = workflow.task('create-account', createAccount, { user: 'a@example.com' })
const welcome = workflow.task('welcome', sendWelcome, { template: 'hello' }, { after: [account] })
workflow.task('clean-up', removeAccount, null, { after: [account, welcome], triggerRule: 'one_failed' })

const handle = await workflow.submit({ idempotencyKey: 'onboarding-a@example.com' })
await handle.result() // throws WorkflowFailedError when it ends FAILED or CANCELLED
const { message } = await handle.node(welcome).result()
console.log(message)
