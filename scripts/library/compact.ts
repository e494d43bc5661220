// Makes CommonJS files small: no comments, no indentation, short names for local variables. Functions and classes keep
// their names and each statement of a module begins a line, so stack traces say where they are.

import { minifySync, parseSync } from "rolldown/utils";

interface Statement {
  readonly start: number;
  readonly end: number;
  readonly expression?: { readonly right?: { readonly body?: { readonly body?: readonly Statement[] } } };
}

/** The code of one file. Throws where it does not parse. */
export function compact(file: string, code: string): string {
  const { code: small, errors } = minifySync(file, code, {
    compress: false,
    mangle: { keepNames: true },
    codegen: { removeWhitespace: true },
  });
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  const program = parseSync(file, small).program as unknown as { readonly body: readonly Statement[] };
  let text = "";
  let from = 0;
  for (const { start } of program.body.flatMap(withInner)) {
    text += `${small.slice(from, start)}${start === 0 ? "" : "\n"}`;
    from = start;
  }
  return `${text}${small.slice(from)}\n`;
}

/** A statement that assigns a function has that function's statements in it. */
function withInner(statement: Statement): readonly Statement[] {
  return [statement, ...(statement.expression?.right?.body?.body ?? [])];
}
