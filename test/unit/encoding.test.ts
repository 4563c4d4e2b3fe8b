/** Bytes of text in the encodings of files, and bytes that are invalid in all of them. */
import { describe, expect, it } from 'vitest'
import { StrictDecoder } from '../../lib/files/encoding.js'
import { coded } from '../support/coded.js'
import { Random } from '../support/generators.js'

/** Decodes bytes in chunks of at most `most` bytes. */
function decoded(bytes: Uint8Array, most = Number.POSITIVE_INFINITY): string {
  const decoder = new StrictDecoder('names')
  let text = ''
  for (let at = 0; at < bytes.length; at += most) {
    text += decoder.decode(bytes.subarray(at, at + most), false)
  }
  return text + decoder.decode(new Uint8Array(0), true)
}

const latin1 = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0))
const utf16 = (text: string, swapped: boolean) => {
  const bytes = Buffer.from(text, 'utf16le')
  return swapped ? bytes.swap16() : bytes
}
const xml = (encoding: string) => `<?xml version='1.0' encoding="${encoding}" standalone='yes'?>\n`

describe('decoder of text files', () => {
  const text = 'Köln,Łódź\nε,😀\ufeff\ufffd\n'

  it.each<[string, Uint8Array, string]>([
    ['UTF-8', Buffer.from(text), text],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`), text],
    ['UTF-16LE with a byte order mark', utf16(`\ufeff${text}`, false), text],
    ['UTF-16BE with a byte order mark', utf16(`\ufeff${text}`, true), text],
    ['UTF-16LE by its zeros', utf16(`a,${text}`, false), `a,${text}`],
    ['UTF-16BE by its zeros', utf16(`a,${text}`, true), `a,${text}`],
    ['declared UTF-16 with its mark', utf16(`\ufeff${xml('UTF-16')}ö`, true), `${xml('UTF-16')}ö`],
    ['declared UTF-16 that is UTF-8', Buffer.from(`${xml('utf-16')}ö€`), `${xml('utf-16')}ö€`],
    ['declared ISO-8859-1', latin1(`${xml('ISO-8859-1')}K\xf6ln`), `${xml('ISO-8859-1')}Köln`],
    ['declared windows-1252', latin1(`${xml('windows-1252')}\x80\xe9`), `${xml('windows-1252')}€é`],
    ['declared Shift_JIS', latin1(`${xml('Shift_JIS')}\x93\x8c`), `${xml('Shift_JIS')}東`],
    ['a declaration without an encoding', Buffer.from('<?xml version="1.0"?>ö'), '<?xml version="1.0"?>ö'],
    ['one character', Buffer.from('ö'), 'ö'],
    ['nothing', new Uint8Array(0), ''],
    ['nothing but a mark', Buffer.from('\ufeff'), ''],
  ])('reads %s in chunks of any size', (_, bytes, expected) => {
    for (const most of [1, 2, 3, 5, 1000]) expect(decoded(bytes, most)).toBe(expected)
  })

  it('reads sequences that chunk borders of any size split', () => {
    const random = new Random(5)
    const letters = [...'aß€😀\n']
    const long = Array.from({ length: 200_000 }, () => letters[random.integer(0, 4)]).join('')
    for (const most of [65_535, 65_536, 65_537, 1e7]) expect(decoded(Buffer.from(long), most)).toBe(long)
    expect(decoded(utf16(`\ufeff${long}`, false), 65_537)).toBe(long)
  })

  it.each<[string, Uint8Array, string]>([
    [
      'a letter of windows-1252',
      latin1('a,b\nZ\xfcrich,c\n'),
      'names, line 2: byte 5 must be UTF-8, but it is 0xfc: save',
    ],
    ['a lead byte without the rest', latin1('caf\xe9,b\n'), 'line 1: byte 3 must be UTF-8, but it is 0xe9'],
    ['a surrogate in UTF-8', latin1('ab\xed\xa0\x80'), 'line 1: byte 2 must be UTF-8, but it is 0xed'],
    ['an overlong form', latin1('ab\n\n\xc0\xaf'), 'line 3: byte 4 must be UTF-8, but it is 0xc0'],
    [
      'an end within a character',
      latin1('ab\n\xf0\x9f\x98'),
      'line 2: byte 3 must be UTF-8, but the text ends within',
    ],
    [
      'a lone surrogate',
      Buffer.concat([utf16('\ufeffa\n', false), latin1('\x00\xdcb\x00')]),
      'line 2: byte 6 must be UTF-16LE, as its byte order mark says, but it is 0x',
    ],
    [
      'half a character of UTF-16',
      latin1('\xff\xfea\x00b'),
      'byte 4 must be UTF-16LE, as its byte order mark says, but the text ends',
    ],
    [
      'an unknown encoding',
      Buffer.from(xml('EBCDIC-US')),
      "must be in an encoding that TextDecoder knows, but it is in 'ebcdic-us', as its XML declaration says: save it as UTF-8",
    ],
    ['UTF-32', latin1('\xff\xfe\x00\x00a\x00\x00\x00'), "it is in 'utf-32', as its byte order mark says"],
    [
      'a byte that the declared encoding lacks',
      latin1(`${xml('windows-1253')}\xd2`),
      `byte ${xml('windows-1253').length} must be WINDOWS-1253, as its XML declaration says, but it is 0xd2`,
    ],
  ])('rejects %s with its position, in chunks of any size', (_, bytes, message) => {
    for (const most of [1, 2, 3, 1000]) expect(() => decoded(bytes, most)).toThrow(coded('FILE', message))
  })

  it('finds a wrong byte far into the text', () => {
    const bytes = Buffer.from('ab€\n'.repeat(100_000))
    bytes[400_001] = 0xff
    for (const most of [1000, 65_537, 1e7]) {
      expect(() => decoded(bytes, most)).toThrow(
        coded('FILE', 'names, line 66667: byte 400001 must be UTF-8, but it is 0xff'),
      )
    }
  })
  it('finds a wrong byte if the caller fills its chunk again', () => {
    for (const [first, second] of [
      ['ab\n€', [0xff]],
      ['<?xml', [0x20, 0xff]],
    ] as const) {
      const start = Buffer.from(first)
      const bytes = start.subarray(0, first === '<?xml' ? 5 : start.length - 1)
      const decoder = new StrictDecoder('names')
      const chunk = Buffer.alloc(bytes.length)
      bytes.copy(chunk)
      decoder.decode(chunk, false)
      chunk.fill(0xff)
      expect(() => decoder.decode(Uint8Array.from(second), true)).toThrow(
        coded(
          'FILE',
          first === '<?xml' ? 'line 1: byte 6 must be' : 'line 2: byte 3 must be UTF-8, but it is 0xe2',
        ),
      )
    }
  })
})
