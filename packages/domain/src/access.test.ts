import { describe, expect, test } from 'vitest'
import { isVisible, mayUse, openCaller, type Scope, scopes } from './access.js'

const held = (...names: Scope[]) => ({ scopes: new Set(names) })

describe('scopes', () => {
  for (const { name } of scopes) {
    test(`${name} allows itself, and admin allows ${name}`, () => {
      expect(mayUse(held(name), name)).toBe(true)
      expect(mayUse(held('admin'), name)).toBe(true)
      expect(mayUse(openCaller, name)).toBe(true)
    })

    test(`${name} is not allowed by the others but admin, nor by none`, () => {
      const others = scopes.map((scope) => scope.name).filter((other) => other !== name && other !== 'admin')
      expect(mayUse(held(...others), name)).toBe(false)
      expect(mayUse(held(), name)).toBe(false)
    })
  }
})

test('a bound caller sees its own tenant only, an unbound one all', () => {
  expect(isVisible('acme', 'acme')).toBe(true)
  expect(isVisible('acme', 'other')).toBe(false)
  expect(isVisible(null, 'other')).toBe(true)
})
