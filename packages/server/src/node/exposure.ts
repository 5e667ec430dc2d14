import { BlockList, isIP } from 'node:net'

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether only programs of this machine reach what listens there: 127.0.0.0/8, ::1 and `localhost`. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/%.*$/, '') // without the zone of an IPv6 address
  const family = isIP(address)
  if (family === 0) return host.toLowerCase() === 'localhost'
  return loopback.check(address, family === 4 ? 'ipv4' : 'ipv6')
}

/** The one line that an operator of an open node sees at its start. */
export const OPEN_WARNING =
  'there are no API keys yet: anyone who reaches this port can submit, read and work; keep it in a network you trust'

/** What is wrong with listening there, or null. Without keys the address is all that keeps strangers out. */
export function exposureProblem({ host, open }: { readonly host: string; readonly open: boolean }): string | null {
  if (open || isLoopback(host)) return null
  return `must be a loopback address (127.0.0.1, ::1, localhost) unless --open or DULY_OPEN=true is given: there are no API keys yet, so anyone who reaches ${host} can submit, read and work`
}
