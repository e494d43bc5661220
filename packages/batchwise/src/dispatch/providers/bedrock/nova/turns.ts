// Converts the turns of a chat from OpenAI's format to Nova's. A part may also be a block of Nova's
// own, such as `{ video }`, which is kept. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import { type ChatShape, callsOf, type FunctionCall, partsOf, readChat } from "../../shapes/openai/chat.ts";
import { readDataUrl } from "../../shapes/openai/data-url.ts";
import { checkFields, dropAbsent } from "../../shapes/refusals.ts";
import { jsonObject, text } from "../../shapes/sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";

/** Cache marks, which are ignored: Nova caches the beginning of prompts automatically. */
const MARKS = ["cache_control", "prompt_cache_breakpoint"];
const SYSTEM: ReadonlySet<string> = new Set(["role", "content", ...MARKS]);
const USER: ReadonlySet<string> = SYSTEM;
/** The tool's name is implied by the call's id. */
const TOOL: ReadonlySet<string> = new Set(["role", "content", "tool_call_id", "name", "is_error", ...MARKS]);
/** The last two come from earlier answers. Nova neither returns nor accepts reasoning. */
const ASSISTANT: ReadonlySet<string> = new Set([
  "role",
  "content",
  "refusal",
  "tool_calls",
  ...MARKS,
  "annotations",
  "reasoning_content",
]);
const CALL: ReadonlySet<string> = new Set(["id", "type", "index", "function", ...MARKS]);
const TEXT: ReadonlySet<string> = new Set(["type", "text", "refusal", ...MARKS]);
const IMAGE: ReadonlySet<string> = new Set(["type", "image_url", ...MARKS]);
/** `detail` is how OpenAI scales an image; Nova has no such setting. */
const IMAGE_URL: ReadonlySet<string> = new Set(["url", "detail"]);
const FILE: ReadonlySet<string> = new Set(["type", "file", ...MARKS]);
const FILE_SOURCE: ReadonlySet<string> = new Set(["file_data", "filename"]);

const IMAGE_FORMATS: ReadonlyMap<string, string> = new Map([
  ["image/jpeg", "jpeg"],
  ["image/png", "png"],
  ["image/gif", "gif"],
  ["image/webp", "webp"],
]);
/** From "Document understanding" of the Nova user guide. */
const DOCUMENT_FORMATS: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
  ["text/html", "html"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
]);
const OWN = ["image", "video", "audio", "document"];

const shape: ChatShape = {
  refuse,
  system(message, place) {
    checkFields(message, SYSTEM, place, refuse);
    return wordBlocks(message.content, place);
  },
  user(message, place) {
    checkFields(message, USER, place, refuse);
    const blocks = blocksOf(message, place);
    if (blocks.length === 0) throw refuse.invalid(`\`${place}.content\` is empty`);
    return blocks;
  },
  assistant(message, place) {
    checkFields(message, ASSISTANT, place, refuse);
    const words = wordBlocks(message.content, place);
    const refusal = text(message.refusal);
    const calls = callsOf(message, place, refuse).map((call, index) => toolUse(call, `${place}.tool_calls[${index}]`));
    return [...words, ...(refusal === null ? [] : [{ text: refusal }]), ...calls];
  },
  tool(message, place) {
    checkFields(message, TOOL, place, refuse);
    const toolUseId = text(message.tool_call_id);
    if (toolUseId === null) throw refuse.invalid(`\`${place}.tool_call_id\` is missing`);
    const content = blocksOf(message, place);
    const status = message.is_error === true ? "error" : undefined;
    // Nova refuses a result without content, so a silent tool gets an empty text.
    return [
      { toolResult: dropAbsent({ toolUseId, content: content.length === 0 ? [{ text: "" }] : content, status }) },
    ];
  },
};

export function toNovaConversation(messages: Json | undefined): { system: JsonObject[]; messages: JsonObject[] } {
  const { system, turns } = readChat(messages, shape);
  return { system, messages: turns.map(({ role, blocks }) => ({ role, content: blocks })) };
}

function toolUse({ id, name, input, source }: FunctionCall, place: string): JsonObject {
  checkFields(source, CALL, place, refuse);
  return { toolUse: { toolUseId: id, name, input } };
}

function blocksOf(message: JsonObject, place: string): JsonObject[] {
  return partsOf(message.content, place, refuse).map((part, index) => toBlock(part, `${place}.content[${index}]`));
}

function toBlock(part: JsonObject, place: string): JsonObject {
  if (part.type === undefined && OWN.some((name) => part[name] !== undefined)) return part;
  switch (part.type) {
    case "image_url": {
      checkFields(part, IMAGE, place, refuse);
      const image = jsonObject(part.image_url) ?? {};
      checkFields(image, IMAGE_URL, `${place}.image_url`, refuse);
      return {
        image: mediaOf(
          image.url,
          IMAGE_FORMATS,
          `\`${place}\`: an image other than base64 data of JPEG, PNG, GIF or WebP`,
        ),
      };
    }
    case "file": {
      checkFields(part, FILE, place, refuse);
      const file = jsonObject(part.file) ?? {};
      checkFields(file, FILE_SOURCE, `${place}.file`, refuse);
      const media = mediaOf(file.file_data, DOCUMENT_FORMATS, `\`${place}\`: a file other than data of a document`);
      return { document: { name: documentName(file.filename), ...media } };
    }
    default:
      return wordBlock(part, place);
  }
}

function mediaOf(url: Json | undefined, formats: ReadonlyMap<string, string>, what: string): JsonObject {
  const data = readDataUrl(url);
  const format = formats.get(data?.type ?? "");
  if (data === null || format === undefined) throw refuse.unsupported(what);
  return { format, source: { bytes: data.data } };
}

/**
 * A valid `name` of Converse's DocumentBlock: letters, digits, single spaces, hyphens, brackets.
 */
function documentName(name: Json | undefined): string {
  const plain = String(name ?? "")
    .replace(/\.[a-z]+$/i, "")
    .replaceAll(/[^A-Za-z0-9()[\]-]+/g, " ")
    .trim();
  return plain === "" ? "document" : plain.slice(0, 200);
}

function wordBlocks(content: Json | undefined, place: string): JsonObject[] {
  return partsOf(content, place, refuse).map((part, index) => wordBlock(part, `${place}.content[${index}]`));
}

function wordBlock(part: JsonObject, place: string): JsonObject {
  const words = part.type === "text" ? part.text : part.type === "refusal" ? part.refusal : undefined;
  if (typeof words !== "string") throw refuse.unsupported(`\`${place}\` of type ${JSON.stringify(part.type ?? null)}`);
  checkFields(part, TEXT, place, refuse);
  return { text: words };
}
