import { Worker } from '@duly/sdk'
import { createAccount, duly, removeAccount, sendWelcome } from './onboarding.js'

export const worker = new Worker(duly, { slots: 10 })

worker.handle(createAccount, async ({ user }) => ({ id: user.length }))

worker.handle(sendWelcome, async ({ template }, { dependencies }) => {
  const { id } = await dependencies.result('create-account') // { id: number }, by the definition
  return { message: `${template} to account ${id}` }
})

worker.handle(removeAccount, async (_, { dependencies }) => {
  for (const [name, status] of dependencies.statuses) console.error(`${name} ended ${status}`)
})

await worker.start()
