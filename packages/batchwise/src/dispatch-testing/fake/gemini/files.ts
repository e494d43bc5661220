// Files of Gemini's Files API: resumable uploads in chunks, lists by pages, expiry after 48 hours.
// Uploaded files cannot be downloaded.

import type { JsonObject } from "../../../dispatch/contract/types.ts";
import { type Exchange, jsonReply, Refusal, type Reply } from "../exchange.ts";
import { isObject } from "../openai/lines.ts";
import type { Settings } from "../settings.ts";

const RETENTION_MS = 48 * 3_600_000;
const LONGEST_NAME = 512;

export interface GeminiFile {
  /** The part after "files/". */
  readonly id: string;
  readonly displayName: string;
  readonly mimeType: string;
  readonly content: Uint8Array;
  readonly createdAt: number;
}

interface Session {
  readonly displayName: string;
  readonly mimeType: string;
  readonly size: number;
  readonly chunks: Uint8Array[];
  received: number;
}

export class GeminiFiles {
  readonly #settings: Settings;
  readonly #files: Map<string, GeminiFile> = new Map();
  readonly #sessions: Map<string, Session> = new Map();
  #count = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** Handles one call of an upload: its start, or a chunk. */
  upload(exchange: Exchange): Reply {
    const command = exchange.headers.get("x-goog-upload-command") ?? "";
    return command === "start" ? this.#start(exchange) : this.#receive(exchange, command);
  }

  /** The file, or undefined if it was deleted or has expired. */
  get(id: string): GeminiFile | undefined {
    const file = this.#files.get(id);
    if (file === undefined || this.#settings.now() < file.createdAt + RETENTION_MS) return file;
    this.#files.delete(id);
    return undefined;
  }

  isPending({ createdAt }: GeminiFile): boolean {
    return this.#settings.now() < createdAt + this.#settings.filesPendingMs;
  }

  render(file: GeminiFile): JsonObject {
    return renderFile(file, this.isPending(file) ? "PROCESSING" : "ACTIVE");
  }

  delete(id: string): void {
    this.#files.delete(id);
  }

  /** Newest first. */
  listed(): GeminiFile[] {
    return [...this.#files.keys()].reverse().flatMap((id) => this.get(id) ?? []);
  }

  #start(exchange: Exchange): Reply {
    const { headers } = exchange;
    if (headers.get("x-goog-upload-protocol") !== "resumable") throw invalid("Expected a resumable upload.");
    const size = Number(headers.get("x-goog-upload-header-content-length"));
    if (!Number.isInteger(size) || size < 1) throw invalid("The size of the upload is missing.");
    const most = this.#settings.limits.maxUploadBytes;
    if (size > most) throw invalid(`The file is larger than ${most} bytes.`);
    const { displayName = "", mimeType } = fileOf(exchange.body);
    if (String(displayName).length > LONGEST_NAME) throw invalid("The display name is too long.");
    if (typeof mimeType !== "string" || mimeType === "") throw invalid("The MIME type is missing.");
    const id = this.#nextId();
    this.#sessions.set(id, { displayName: String(displayName), mimeType, size, chunks: [], received: 0 });
    const url = `http://${headers.get("host") ?? "127.0.0.1"}/upload/v1beta/files?upload_id=${id}&upload_protocol=resumable`;
    return jsonReply({}, 200, { "x-goog-upload-status": "active", "x-goog-upload-url": url });
  }

  #receive({ headers, query, body }: Exchange, command: string): Reply {
    const id = query.get("upload_id") ?? "";
    const session = this.#sessions.get(id);
    if (session === undefined) throw new Refusal(404, "NOT_FOUND", `There is no upload ${id}.`);
    if (Number(headers.get("x-goog-upload-offset")) !== session.received)
      throw invalid("The offset is not the next one.");
    session.chunks.push(body);
    session.received += body.length;
    if (!command.includes("finalize")) return jsonReply({}, 200, { "x-goog-upload-status": "active" });
    if (session.received !== session.size) throw invalid(`Expected ${session.size} bytes, got ${session.received}.`);
    this.#sessions.delete(id);
    const { displayName, mimeType, chunks } = session;
    const file = { id, displayName, mimeType, content: Buffer.concat(chunks), createdAt: this.#settings.now() };
    this.#files.set(id, file);
    return jsonReply({ file: this.render(file) }, 200, { "x-goog-upload-status": "final" });
  }

  #nextId(): string {
    this.#count += 1;
    return `${this.#settings.mark}${String(this.#count).padStart(4, "0")}`;
  }
}

function renderFile({ id, displayName, mimeType, content, createdAt }: GeminiFile, state: string): JsonObject {
  const at = new Date(createdAt).toISOString();
  return {
    name: `files/${id}`,
    displayName,
    mimeType,
    sizeBytes: String(content.length),
    createTime: at,
    updateTime: at,
    expirationTime: new Date(createdAt + RETENTION_MS).toISOString(),
    uri: `https://generativelanguage.googleapis.com/v1beta/files/${id}`,
    state,
    source: "UPLOADED",
  };
}

function fileOf(body: Uint8Array): JsonObject {
  const parsed: unknown = JSON.parse(Buffer.from(body).toString() || "{}");
  return isObject(parsed) && isObject(parsed.file) ? parsed.file : {};
}

function invalid(message: string): Refusal {
  return new Refusal(400, "INVALID_ARGUMENT", message);
}
