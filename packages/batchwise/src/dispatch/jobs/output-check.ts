// The check of a job's answers: a schema, or a function of the caller's.

import { expected, invalidOption, type Rule } from "../../core/contract/validate.ts";
import { answerValue } from "../batches/collect/answer-text.ts";
import type { OutputCheck, OutputSchema, SchemaIssue } from "../contract/checks.ts";
import type { JsonObject } from "../contract/types.ts";
import { shortened } from "../format/stored-code.ts";
import { type ResolvedCheck, resolveCheck } from "../options/resolve-options.ts";
import { closed } from "../requests/check/strict-schema.ts";

const MOST_ISSUES = 5;
/** Maximum characters of an issue: some libraries quote the whole value. */
const MOST_WORDS = 200;
const aSchema: Rule = {
  expected: "a schema of zod, valibot, arktype or another library of Standard Schema",
  type: "object",
  test: () => false,
};

/** The check of one job; null for none. */
export function outputCheck(
  job: string,
  schema: OutputSchema | undefined,
  run: OutputCheck | undefined,
  reask: boolean | undefined,
): ResolvedCheck | null {
  if (schema === undefined) return resolveCheck(job, run, reask);
  if (run !== undefined) throw invalidOption(TypeError, "Expected `schema` or `check`, got both");
  // Some libraries make schemas that are functions.
  const isObject = typeof schema === "object" || typeof schema === "function";
  const standard = isObject && schema !== null ? schema["~standard"] : undefined;
  if (typeof standard?.validate !== "function" || standard.version !== 1) throw expected("schema", aSchema, schema);
  const validate = async (body: JsonObject): Promise<string | null> => {
    const answer = answerValue(body);
    if (answer.kind !== "value") return answer.why;
    const { issues } = await standard.validate(answer.value);
    return issues === undefined ? null : issueWords(issues);
  };
  return resolveCheck(job, validate, reask, jsonSchemaOf(standard));
}

/** The schema as JSON Schema; null if its library cannot convert it. */
function jsonSchemaOf({ jsonSchema }: OutputSchema["~standard"]): JsonObject | null {
  try {
    const given = jsonSchema?.input({ target: "draft-2020-12" });
    if (given === undefined) return null;
    const { $schema: _version, ...schema } = JSON.parse(JSON.stringify(given)) as JsonObject;
    return closed(schema);
  } catch {
    return null;
  }
}

/** The value of an answer; undefined if the schema rejects it. */
export async function parsedValue<Output>(schema: OutputSchema<Output>, body: JsonObject): Promise<Output | undefined> {
  const answer = answerValue(body);
  if (answer.kind !== "value") return undefined;
  const result = await schema["~standard"].validate(answer.value);
  return result.issues === undefined ? result.value : undefined;
}

function issueWords(issues: readonly SchemaIssue[]): string {
  const words = issues.slice(0, MOST_ISSUES).map(({ message, path = [] }) => {
    const place = path.map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    const words = shortened(message, MOST_WORDS);
    return place === "" ? words : `${place}: ${words}`;
  });
  const more = issues.length > MOST_ISSUES ? ` And ${issues.length - MOST_ISSUES} more.` : "";
  return `The answer is not as the schema says. ${words.join("; ")}.${more}`;
}
