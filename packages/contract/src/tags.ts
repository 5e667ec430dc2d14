import type { ApiRoute } from './routes.js'

/** The groups of routes, in the order in which pages show them. */
export const apiTags: Readonly<Record<ApiRoute['tag'], string>> = {
  tasks: 'Submit, read, cancel and retry tasks.',
  workflows: 'Graphs of tasks: what starts when what before it has ended.',
  dlq: 'Dead letters: tasks whose retries are used up, by what their errors have in common.',
  bulk: 'Operations on many tasks: tried without a change first, watched, cancelled.',
  cron: 'Recurring tasks: a schedule, and the task that each of its fire times makes.',
  queues: 'What waits where.',
  workers: 'The protocol of workers: JSON over HTTP keep-alive, all batched.',
  keys: 'API keys: who may do what, and for which tenant.',
  cluster: 'The deployment itself: nodes, and who leads what.',
  system: 'Health, metrics and this document.',
}

/** The same as a list. */
export const tagList = Object.entries(apiTags).map(([name, doc]) => ({ name: name as ApiRoute['tag'], doc }))
