// The only way to standard output and standard error. Texts of providers, of input lines and of the
// command line may hold codes that clear a screen, set a title or write to a clipboard: each
// control character is shown as `\u001b`. JSON reads that as the same text, so what is printed as
// JSON stays exact.

import { withoutSecrets } from "./secrets.ts";

/** C0, DEL and C1, line breaks too. */
const CONTROLS = /\p{Cc}/gu;

/** Pure. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** To standard output. An end that nothing reads any more (`| head`) is no error. */
export function print(lines: string | readonly string[]): void {
  writeLines(process.stdout, lines);
}

export function printJson(value: unknown): void {
  print(linesOf(JSON.stringify(value, null, 2)));
}

/** To standard error, without secrets. */
export function warn(lines: string | readonly string[]): void {
  writeLines(
    process.stderr,
    [lines].flat().map((line) => withoutSecrets(line)),
  );
}

/**
 * Draws a line on a terminal's standard error in place of the one that is being drawn, and stays on
 * it.
 */
export function redraw(line: string): void {
  process.stderr.write(`\r${visible(withoutSecrets(line))}\x1b[K`);
}

/** Lines of a text whose line breaks are the command's own. */
export function linesOf(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}

function writeLines(stream: NodeJS.WriteStream, lines: string | readonly string[]): void {
  stream.write(
    [lines]
      .flat()
      .map((line) => `${visible(line)}\n`)
      .join(""),
  );
}
