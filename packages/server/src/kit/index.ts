export type { RestlessTask } from './rest.js'
export { RestlessError } from './restless-error.js'
export type { PassOptions, TimeLapse } from './time-lapse.js'
export { startVirtualNode, type VirtualNode, type VirtualNodeOptions } from './virtual-node.js'
