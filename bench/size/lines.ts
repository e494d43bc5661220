/** Counts lines of code: lines that hold more than blanks and comments. */
import { globSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";

/** `path` decides the language by its extension. Throws for a file that does not parse. */
export function linesOfCode(path: string, text: string): number {
  const { comments, errors } = parseSync(path, text);
  if (errors[0] !== undefined) throw new Error(`${path}: ${errors[0].message}`);
  let code = "";
  let from = 0;
  for (const { start, end } of comments) {
    const lineBreaks = text.slice(start, end).replace(/[^\n]/g, "");
    code += text.slice(from, start) + lineBreaks;
    from = end;
  }
  code += text.slice(from);
  return code.split("\n").filter((line) => line.trim() !== "").length;
}

/** The lines of code of all TypeScript files in a folder and below it. */
export function linesOfFolder(folder: string): number {
  const files = globSync("**/*.ts", { cwd: folder });
  if (files.length === 0) throw new Error(`${folder} has no TypeScript files`);
  return files.reduce((sum, file) => sum + linesOfCode(file, readFileSync(`${folder}/${file}`, "utf8")), 0);
}
