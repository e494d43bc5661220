// Uploaded files of the OpenAI-shaped surface: taken in by multipart, listed by name, gone after the retention time.

import type { JsonObject } from "../../contract/types.ts";
import { type Exchange, Refusal } from "./exchange.ts";
import { parseMultipart } from "./multipart.ts";
import type { Settings } from "./settings.ts";

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly purpose: string;
  readonly content: Uint8Array;
  readonly createdAt: number;
}

export class FileShelf {
  readonly #settings: Settings;
  readonly #files: Map<string, StoredFile> = new Map();
  #count = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  upload(exchange: Exchange): StoredFile {
    const parts = parseMultipart(exchange.body, exchange.headers.get("content-type") ?? "");
    const file = parts.find(({ name }) => name === "file");
    const purpose = parts.find(({ name }) => name === "purpose");
    if (file?.fileName == null) throw required("file");
    if (purpose === undefined) throw required("purpose");
    return this.keep(file.fileName, Buffer.from(purpose.content).toString(), file.content);
  }

  keep(name: string, purpose: string, content: Uint8Array): StoredFile {
    const { maxFileBytes } = this.#settings.limits;
    if (purpose !== (this.#settings.dialect === "together" ? "batch-api" : "batch"))
      throw new Refusal(400, "invalid_value", `'${purpose}' is not a purpose.`, { param: "purpose" });
    if (!name.endsWith(".jsonl"))
      throw new Refusal(400, "invalid_file_format", "Expected a .jsonl file.", { param: "file" });
    if (content.length === 0) throw new Refusal(400, "empty_file", "The file is empty.", { param: "file" });
    if (content.length > maxFileBytes) {
      throw new Refusal(413, "file_too_large", `The file is larger than ${maxFileBytes} bytes.`, { param: "file" });
    }
    this.#count += 1;
    const id = `file-${this.#settings.mark}${String(this.#count).padStart(8, "0")}`;
    const stored = { id, name, purpose, content, createdAt: this.#settings.now() };
    this.#files.set(id, stored);
    return stored;
  }

  /** The file, unless it was deleted or its time is over. */
  get(id: string): StoredFile | undefined {
    const file = this.#files.get(id);
    if (file === undefined || this.#settings.now() < file.createdAt + this.#settings.fileRetentionMs) return file;
    this.#files.delete(id);
    return undefined;
  }

  delete(id: string): boolean {
    return this.get(id) !== undefined && this.#files.delete(id);
  }

  /** Newest first. */
  listed(): StoredFile[] {
    return [...this.#files.keys()].reverse().flatMap((id) => this.get(id) ?? []);
  }
}

export function renderFile(file: StoredFile): JsonObject {
  return {
    id: file.id,
    object: "file",
    bytes: file.content.length,
    created_at: Math.floor(file.createdAt / 1000),
    filename: file.name,
    purpose: file.purpose,
    status: "processed",
  };
}

function required(name: string): Refusal {
  return new Refusal(400, "missing_required_parameter", `Missing required parameter: '${name}'.`, { param: name });
}
