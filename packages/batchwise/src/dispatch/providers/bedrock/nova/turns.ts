// Converts the turns of a chat from OpenAI's format to Nova's. A part may also be a block of Nova's
// own, such as `{ video }`, which is kept. Pure.

import type { Json, JsonObject } from "../../../contract/types.ts";
import {
  argumentsOf,
  type ChatShape,
  callsOf,
  eachPart,
  innerOf,
  readChat,
  wordsOf,
} from "../../shapes/openai/chat.ts";
import { readDataUrl } from "../../shapes/openai/data-url.ts";
import { dropAbsent } from "../../shapes/refusals.ts";
import { text } from "../../shapes/sdk/sdk-error.ts";
import { refuse } from "./refuse.ts";

/** Cache marks, which are ignored: Nova caches the beginning of prompts automatically. */
const MARKS: ReadonlySet<string> = new Set(["cache_control", "prompt_cache_breakpoint"]);

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

/** Reasoning and annotations of earlier answers are omitted: Nova has no place for them. */
const shape: ChatShape = {
  refuse,
  own: {
    system: MARKS,
    user: MARKS,
    assistant: MARKS,
    tool: new Set(["is_error", ...MARKS]),
    call: MARKS,
    part: MARKS,
  },
  system: wordBlocks,
  user(message, place) {
    const blocks = eachPart(message, place, refuse, toBlock);
    if (blocks.length === 0) throw refuse.invalid(`\`${place}.content\` is empty`);
    return blocks;
  },
  assistant(message, place) {
    const words = wordBlocks(message, place);
    const refusal = text(message.refusal);
    const calls = callsOf(message, place, shape).map((call) => ({
      toolUse: { toolUseId: call.id, name: call.name, input: argumentsOf(call, refuse) },
    }));
    return [...words, ...(refusal === null ? [] : [{ text: refusal }]), ...calls];
  },
  tool(message, place) {
    const toolUseId = text(message.tool_call_id);
    if (toolUseId === null) throw refuse.invalid(`\`${place}.tool_call_id\` is missing`);
    const content = eachPart(message, place, refuse, toBlock);
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

function toBlock(part: JsonObject, place: string): JsonObject {
  if (part.type === undefined && OWN.some((name) => part[name] !== undefined)) return part;
  switch (part.type) {
    case "image_url": {
      const what = `\`${place}\`: an image other than base64 data of JPEG, PNG, GIF or WebP`;
      return { image: mediaOf(innerOf(part, place, shape).url, IMAGE_FORMATS, what) };
    }
    case "file": {
      const { file_data: data, file_id: id = null, filename } = innerOf(part, place, shape);
      if (id !== null) throw refuse.unsupported(`\`${place}.file.file_id\``);
      const media = mediaOf(data, DOCUMENT_FORMATS, `\`${place}\`: a file other than data of a document`);
      return { document: { name: documentName(filename), ...media } };
    }
    default:
      return { text: wordsOf(part, place, shape) };
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

function wordBlocks(message: JsonObject, place: string): JsonObject[] {
  return eachPart(message, place, refuse, (part, at) => ({ text: wordsOf(part, at, shape) }));
}
