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

/** The one line that the operator of an open node sees at its start. */
export const OPEN_WARNING =
  'this node runs open: it asks for no API key, so anyone who reaches the port may do everything; start it without --open (DULY_OPEN) to change that'

/** What the operator of a deployment without keys sees. */
export const NO_KEYS =
  'there is no API key yet, so every call is refused: make the first one with `duly key create --name admin --scopes admin --database-url <url of this database>`'
