// The only way to standard output and standard error. Texts of providers, of input lines and of the
// command line may contain codes that clear a screen, set a title or write to a clipboard, so each
// control character is shown as `\u001b`. JSON reads that as the same text, so printed JSON stays
// exact.

import { withoutSecrets } from "./secrets.ts";

/** C0, DEL and C1; includes line breaks. */
const CONTROLS = /\p{Cc}/gu;

/** The text with visible control characters. Pure. */
export function visible(text: string): string {
  return text.replace(CONTROLS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Prints to standard output. A closed pipe (`| head`) is not an error. */
export function print(lines: string | readonly string[]): void {
  writeLines(process.stdout, lines);
}

export function printJson(value: unknown): void {
  print(linesOf(JSON.stringify(value, null, 2)));
}

/** Prints to standard error, without secrets. */
export function warn(lines: string | readonly string[]): void {
  writeLines(
    process.stderr,
    [lines].flat().map((line) => withoutSecrets(line)),
  );
}

/** Replaces the current line of a terminal's standard error; adds no line break. */
export function redraw(line: string): void {
  process.stderr.write(`\r${visible(withoutSecrets(line))}\x1b[K`);
}

/** Splits a text whose line breaks come from the command itself. */
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
