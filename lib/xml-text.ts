/** Escapes text for XML and SVG. */

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns a string as content or attribute of XML. Characters that XML doesn't allow are replaced. */
export const escapeXml = (text: string): string =>
  text
    .replace(/[^\P{Cc}\t\n\r]|\p{Surrogate}|[\ufffe\uffff]/gu, '\ufffd')
    .replace(/[&<>"]/g, (letter) => escapes[letter]!)
