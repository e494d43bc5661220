// Asks for answers as a job's schema says, in the field that each endpoint has for it. A body with
// a format or tools of its own stays as it is. Pure.

import type { Account } from "../../contract/account.ts";
import type { JsonSchemas } from "../../contract/capabilities.ts";
import type { Json, JsonObject } from "../../contract/types.ts";
import { atOnce } from "../../format/at-once.ts";
import { listOf, objectOf } from "../../format/json-object.ts";
import { isRecursive, isStrict, withoutBounds } from "./strict-schema.ts";

/** A JSON schema to send with requests. */
export interface AnswerFormat {
  readonly schema: JsonObject;
  /** It meets OpenAI's rules for `strict`. */
  readonly isStrict: boolean;
}

/** null if an account that may get a request for the model does not accept this schema. */
export function answerFormat(
  given: JsonObject | null,
  model: string,
  accounts: readonly Account[],
): AnswerFormat | null {
  if (given === null || given.type !== "object") return null;
  const kinds = new Set(accounts.map((account) => takenBy(account, model)));
  const schema = sentSchema(given, model, kinds.has("strict"));
  const strict = isStrict(schema);
  const isTaken = !kinds.has("strict") || (strict && !isRecursive(schema));
  return isTaken && !kinds.has(null) ? { schema, isStrict: strict } : null;
}

function takenBy(account: Account, model: string): JsonSchemas | null {
  if (account.jsonSchemasOf !== undefined) return atOnce(account, "jsonSchemasOf", account.jsonSchemasOf(model));
  return account.capabilities.jsonSchemas ?? null;
}

/** OpenAI refuses bounds and formats for models that are fine-tuned. */
function sentSchema(given: JsonObject, model: string, isBoundless: boolean): JsonObject {
  if (model.startsWith("ft:")) return withoutBounds(given, ["format"]);
  return isBoundless ? withoutBounds(given) : given;
}

/** The body with the schema, or itself. */
export function withFormat(endpoint: string, body: JsonObject, format: AnswerFormat): JsonObject {
  if (Array.isArray(body.tools) && body.tools.length > 0) return body;
  return WRITERS[endpoint]?.(body, format) ?? body;
}

const NAME = "answer";

const WRITERS: Readonly<Record<string, (body: JsonObject, format: AnswerFormat) => JsonObject>> = {
  "/v1/chat/completions": (body, { schema, isStrict }) => {
    if (isGiven(body.response_format) || isGiven(body.functions)) return body;
    const json_schema = { name: NAME, schema, strict: isStrict };
    return { ...body, response_format: { type: "json_schema", json_schema } };
  },
  "/v1/responses": (body, { schema, isStrict }) => {
    const text = objectOf(body.text);
    if (isGiven(text.format)) return body;
    return { ...body, text: { ...text, format: { type: "json_schema", name: NAME, schema, strict: isStrict } } };
  },
  "/v1/messages": (body, { schema }) => {
    const config = objectOf(body.output_config);
    if (isGiven(config.format) || isGiven(body.output_format) || hasCitations(body)) return body;
    return { ...body, output_config: { ...config, format: { type: "json_schema", schema } } };
  },
  "/v1beta/generateContent": (body, { schema }) => {
    const config = objectOf(body.generationConfig);
    if (["responseMimeType", "responseSchema", "responseJsonSchema"].some((field) => isGiven(config[field])))
      return body;
    const asked = { responseMimeType: "application/json", responseJsonSchema: schema };
    return { ...body, generationConfig: { ...config, ...asked } };
  },
};

/** Claude refuses them beside a format. */
function hasCitations({ messages }: JsonObject): boolean {
  const blocks = listOf(messages).flatMap((message) => listOf(objectOf(message).content));
  return blocks.some((block) => objectOf(objectOf(block).citations).enabled === true);
}

function isGiven(value: Json | undefined): boolean {
  return value !== undefined && value !== null;
}
