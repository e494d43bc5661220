// Measures files and functions in lines, including comments and blank lines. The body of a
// `describe` is a list of tests and not a function, so only the limit of its file applies.

import { type CallExpression, type Expression, type Span, Visitor } from "oxc-parser";
import { parse } from "../repository.ts";

export const longestFile = 400;
export const longestFunction = 70;

/** One line for each limit that a file breaks. */
export function oversize(path: string, text: string): string[] {
  const lines = lineAt(text, text.trimEnd().length);
  const found = functionsIn(path, text)
    .filter((span) => linesOf(span, text) > longestFunction)
    .map((span) => `${path}:${lineAt(text, span.start)} a function of ${linesOf(span, text)} lines`);
  return lines > longestFile ? [`${path} is ${lines} lines long`, ...found] : found;
}

function functionsIn(path: string, text: string): Span[] {
  const functions: Span[] = [];
  const suites = new Set<number>();
  const add = (node: Span): void => {
    if (!suites.has(node.start)) functions.push(node);
  };
  new Visitor({
    CallExpression: (node) => {
      const body = node.arguments.at(-1);
      if (isSuite(node) && body !== undefined) suites.add(body.start);
    },
    ArrowFunctionExpression: add,
    FunctionExpression: add,
    FunctionDeclaration: add,
  }).visit(parse(path, text));
  return functions;
}

function isSuite(node: CallExpression): boolean {
  let callee: Expression = node.callee;
  while (callee.type !== "Identifier") {
    if (callee.type === "MemberExpression") callee = callee.object as Expression;
    else if (callee.type === "CallExpression") callee = callee.callee;
    else return false;
  }
  return callee.name === "describe";
}

function linesOf({ start, end }: Span, text: string): number {
  return lineAt(text, end) - lineAt(text, start) + 1;
}

function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}
