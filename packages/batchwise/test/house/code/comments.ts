// Reads the comments of a TypeScript file line by line, and says which lines break the rules of
// style: prose has at most 100 columns, and some phrases occur nowhere. The parser finds the
// comments, so that "//" inside a string, a template or a regular expression is none. Lines that
// begin with "-- " are comments of SQL or Lua in a template.

import { commentsIn } from "../repository.ts";

/** Columns of a line of prose, with the indentation and the comment's marks. */
export const longestProse = 100;

/** Columns of a line of code in a docstring, as for code outside (`lineWidth` in biome.json). */
export const longestCode = 120;

/**
 * Phrases that no comment and no title of a test contains, as sources of regular expressions. A
 * phrase joins the list in the commit that removes its last occurrence. A space also stands for a
 * line break.
 */
export const refusedPhrases: readonly string[] = [
  "the like",
  "its like",
  "whoever",
  "for good",
  "affair of",
  "comes? together",
  "be it",
  "gone on with",
  "out of (?:its|his|their) turn",
  "for company",
  "on (?:its|their) way",
  "what is to",
  "has to do with",
  "is none of",
  "one who",
  "those who",
];

/** The same for comments only. */
const REFUSED_IN_COMMENTS: readonly string[] = [
  "nobody(?!@)",
  "somebody",
  "any more",
  "anew",
  "told(?! apart)",
  "lets? go",
  "asked for",
  "put aside",
  "all the same",
];

/** A line of SQL or Lua that is a comment. No line of TypeScript begins like this. */
const EMBEDDED = /^\s*-- /;

const REFUSED = new RegExp(`\\b(?:${[...refusedPhrases, ...REFUSED_IN_COMMENTS].join("|")})\\b`, "gi");

interface CommentLine {
  /** Counted from 1. */
  readonly number: number;
  /** The whole line of the file, for a comment behind code too. */
  readonly line: string;
  /** The line without indentation and marks. */
  readonly text: string;
  /** True between the fences of an example. */
  readonly isCode: boolean;
}

/** One sentence for each line that is too long. */
export function longComments(path: string, text: string): string[] {
  const lines = allBlocksIn(path, text).flat();
  const long = lines.filter((comment) => {
    return comment.line.length > (comment.isCode ? longestCode : longestProse) && isBreakable(comment.text);
  });
  return long.map(({ number, line }) => `${path}:${number} ${line.length} columns`);
}

/** One sentence for each refused phrase of a comment. */
export function refusedWords(path: string, text: string): string[] {
  return allBlocksIn(path, text).flatMap((block) => phrasesIn(path, block));
}

/** False for one word without a space, such as an address: no line break makes the line shorter. */
function isBreakable(text: string): boolean {
  return text.trim().includes(" ");
}

function phrasesIn(path: string, block: readonly CommentLine[]): string[] {
  const prose = block.filter(({ isCode }) => !isCode);
  const text = prose.map((line) => line.text.trim()).join(" ");
  return [...text.matchAll(REFUSED)].map(([phrase]) => `${path}:${prose[0]?.number} says "${phrase}"`);
}

function allBlocksIn(path: string, text: string): CommentLine[][] {
  return [...blocksIn(path, text), ...embeddedBlocksIn(text)];
}

/** The comments of SQL and Lua; lines that follow each other are one block. */
function embeddedBlocksIn(text: string): CommentLine[][] {
  const blocks: CommentLine[][] = [];
  let end = 0;
  for (const [index, line] of text.split("\n").entries()) {
    if (!EMBEDDED.test(line)) continue;
    const comment = { number: index + 1, line, text: line.replace(EMBEDDED, ""), isCode: false };
    if (comment.number === end + 1) blocks.at(-1)?.push(comment);
    else blocks.push([comment]);
    end = comment.number;
  }
  return blocks;
}

/** The comments of a file; `//` comments on lines that follow each other are one block. */
function blocksIn(path: string, text: string): CommentLine[][] {
  const lines = text.split("\n");
  const blocks: CommentLine[][] = [];
  let end = -1;
  let first = 1;
  let start = 0;
  for (const comment of commentsIn(path, text)) {
    first += text.slice(start, comment.start).split("\n").length - 1;
    start = comment.start;
    const found = linesOf(comment.value, first, lines);
    const isNext = comment.type === "Line" && first === end + 1;
    if (isNext) blocks.at(-1)?.push(...found);
    else blocks.push(found);
    end = comment.type === "Line" ? first : -1;
  }
  return blocks;
}

function linesOf(comment: string, first: number, lines: readonly string[]): CommentLine[] {
  let isCode = false;
  return comment.split("\n").map((raw, index) => {
    const text = raw.replace(/^\s*\*? ?/, "");
    const isFence = text.startsWith("```");
    if (isFence) isCode = !isCode;
    const number = first + index;
    return { number, line: lines[number - 1] ?? "", text, isCode: isCode || isFence };
  });
}
