import { nearestName } from '@duly/sdk/nearest-name'
import type { Warning } from './warning.js'

const PREFIX = 'DULY_'

/** Variables beside the settings of a node: what clients read, where `duly dev` keeps its data, and what its example worker reads. */
const OTHERS = ['DULY_URL', 'DULY_API_KEY', 'DULY_DATA_DIR', 'DULY_MAIL_DIR']

/** What Kubernetes puts into every pod beside a service whose name begins with `duly`. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT)(_|$)|_PORT(_\d+_(TCP|UDP|SCTP)(_|$)|$)/

/**
 * A warning for each variable of the environment that looks like one of ours and is none: a setting that is misspelt would else be
 * left at its default without a word.
 *
 * @param settings the variables of all settings
 */
export function misspeltVariables(env: NodeJS.ProcessEnv, settings: readonly string[]): Warning[] {
  const known = [...settings, ...OTHERS]
  const bare = known.map((name) => name.slice(PREFIX.length))
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name) && !OF_A_SERVICE.test(name))
    .sort()
    .map((name) => {
      const found = nearestName(name.slice(PREFIX.length), bare)
      const nearest = found === undefined ? undefined : `${PREFIX}${found}`
      const told = nearest === undefined ? '`duly config` shows the settings' : `did you mean ${nearest}?`
      const message = `${name} is no setting and has no effect; ${told}`
      return { code: 'unknown_variable', message, variable: name, ...(nearest === undefined ? {} : { nearest }) }
    })
}

/** A warning for each variable of a setting that holds what Kubernetes says of a service, and so is not taken for the setting. */
export function serviceLinks(variables: readonly string[]): Warning[] {
  return variables.map((variable) => {
    const service = variable.slice(0, -'_PORT'.length).toLowerCase().replaceAll('_', '-')
    const message =
      `${variable} holds what Kubernetes says of a service called ${service}, and is not taken for the setting; ` +
      '`enableServiceLinks: false` in the pod keeps such variables out'
    return { code: 'service_link', message, variable }
  })
}
