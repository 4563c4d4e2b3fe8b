// Writes the PTX of the templates as a source file: node embed.mjs OUT CAPABILITY=FILE…
//
// Each kernel becomes a separate string, because the driver compiles only one. Comments are removed, except
// placeholders.
import { readFileSync, writeFileSync } from 'node:fs'

const [out, ...inputs] = process.argv.slice(2)

/** Removes comments that aren't placeholders. */
const stripped = (text) =>
  text
    .split('\n')
    .map((line) => (line.includes('// @') ? line.trim() : line.replace(/\/\/.*$/, '').trim()))
    .filter((line) => line !== '')
    .join('\n')

/** Returns a string as adjacent raw literals, because compilers limit the length of a literal. */
const literal = (text) =>
  (text.match(/[\s\S]{1,8000}/g) ?? ['']).map((part) => `R"ptx(${part})ptx"`).join('\n')

const sets = inputs.map((input) => {
  const [capability, file] = input.split('=')
  const [head, ...entries] = readFileSync(file, 'utf8').split(/(?=^\.visible \.entry )/m)
  const kernels = entries.map((entry) => [/\.entry (\w+)/.exec(entry)[1], stripped(entry)])
  return `  {${capability},
   ${literal(`${stripped(head)}\n`)},
   {
${kernels.map(([name, text]) => `    {"${name}", ${literal(`${text}\n`)}}`).join(',\n')}
   }}`
})

writeFileSync(
  out,
  `// Written by native/cuda/user/templates/embed.mjs. Do not edit.
#include "cuda/user/templates.h"

namespace mpmml::cuda {

const std::vector<UserPtx>& user_ptx() {
  static const auto& all = *new std::vector<UserPtx>{
${sets.join(',\n')}
  };
  return all;
}

}  // namespace mpmml::cuda
`,
)
