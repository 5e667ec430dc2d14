import { expect, it } from 'vitest'
import { Redrawing } from './redrawing.js'

function screen(height: number | null) {
  const written: string[] = []
  return { written, drawing: new Redrawing({ height, out: (text) => void written.push(text) }) }
}

it('draws anew in its place on a screen', () => {
  const { written, drawing } = screen(10)
  drawing.show('a\nb\n', 'news')
  drawing.show('c\n', 'news')
  drawing.show('d\n', 'other news')
  expect(written).toEqual(['a\nb\n', '\u001b[2A\u001b[Jc\n', '\u001b[1A\u001b[Jd\n'])
})

it('leaves out what the screen has no room for, but at its end', () => {
  const { written, drawing } = screen(4)
  drawing.show('1\n2\n3\n', '')
  drawing.show('1\n2\n3\n4\n5\n', '')
  drawing.end('1\n2\n3\n4\n5\n', '')
  expect(written).toEqual(['1\n2\n3\n', '\u001b[3A\u001b[J1\n2\n… 3 more lines\n', '\u001b[3A\u001b[J1\n2\n3\n4\n5\n'])
})

it('writes again elsewhere, when there is news', () => {
  const { written, drawing } = screen(null)
  drawing.show('a 1 s\n', 'a')
  drawing.show('a 2 s\n', 'a')
  drawing.show('b 1 s\n', 'b')
  drawing.end('b 2 s\n', 'b')
  expect(written).toEqual(['a 1 s\n', '\nb 1 s\n'])
})
