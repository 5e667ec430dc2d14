// The service border as types, one file a theme; imported from here.
export type * from './model/cluster.js'
export type * from './model/keys.js'
export type * from './model/lists.js'
export type * from './model/queues.js'
export type * from './model/services.js'
export type * from './model/stats.js'
export type * from './model/tasks.js'
export type * from './model/workers.js'
