export type { Cause, CauseDetails, WaitEstimate } from './cause.js'
export { type CauseCode, causeCodes, renderCauses } from './codes.js'
export { type Explanation, explain } from './explain.js'
export type * from './facts.js'
