import { Duly, defineTask, type } from '@duly/sdk'

export const createAccount = defineTask('create_account', {
  payload: type<{ user: string }>(),
  result: type<{ id: number }>(),
  queue: 'onboarding',
})

export const sendWelcome = defineTask('send_welcome', {
  payload: type<{ template: string }>(),
  result: type<{ message: string }>(),
  queue: 'onboarding',
  dependencies: { 'create-account': createAccount }, // its handler reads this result, by its name in the workflow
})

export const removeAccount = defineTask('remove_account', { payload: type<null>(), queue: 'onboarding' })

export const duly = new Duly() // DULY_URL and DULY_API_KEY, or { url, apiKey }
