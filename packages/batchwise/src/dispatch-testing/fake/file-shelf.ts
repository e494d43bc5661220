// Uploaded files of the OpenAI surface: multipart uploads, lists by name, and expiry after the
// retention time.

import type { JsonObject } from "../../dispatch/contract/types.ts";
import { type Exchange, Refusal } from "./exchange.ts";
import { type Part, parseMultipart } from "./multipart.ts";
import type { Settings } from "./settings.ts";

const HOUR_SECONDS = 3_600;
const LONGEST_SECONDS = 30 * 24 * HOUR_SECONDS;

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly purpose: string;
  readonly content: Uint8Array;
  readonly createdAt: number;
  /** In ms since 1970; null: the service's own limit. */
  readonly expiresAt: number | null;
}

/** An announced file, which the client will send to another address. */
export interface Announced {
  readonly id: string;
  readonly name: string;
  readonly purpose: string;
}

export class FileShelf {
  readonly #settings: Settings;
  readonly #files: Map<string, StoredFile> = new Map();
  readonly #announced: Map<string, Announced> = new Map();
  #count = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  upload(exchange: Exchange): StoredFile {
    const parts = parseMultipart(exchange.body, exchange.headers.get("content-type") ?? "");
    const file = parts.find(({ name }) => name === "file");
    const fields = fieldsOf(parts);
    if (this.#settings.dialect === "together" && fields.file_name === undefined) throw required("file_name");
    if (file?.fileName == null) throw required("file");
    const purpose = this.#settings.ownSurface === "xai" ? "batch" : fields.purpose;
    if (purpose === undefined) throw required("purpose");
    const seconds = expiryOf(fields["expires_after[anchor]"], fields["expires_after[seconds]"]);
    return this.keep(fields.file_name ?? file.fileName, purpose, file.content, seconds);
  }

  /** Announces a file that will be sent to another address. */
  announce(exchange: Exchange): Announced {
    const fields = fieldsOf(parseMultipart(exchange.body, exchange.headers.get("content-type") ?? ""));
    if (fields.file_name === undefined) throw required("file_name");
    if (fields.purpose === undefined) throw required("purpose");
    const announced = { id: this.#nextId(), name: fields.file_name, purpose: fields.purpose };
    this.#announced.set(announced.id, announced);
    return announced;
  }

  /**
   * Takes the file at that signed address. It needs no other credentials and requires the length.
   */
  put(id: string, { body, headers }: Exchange): void {
    const announced = this.#announced.get(id);
    if (announced === undefined || headers.get("authorization") !== null) {
      throw new Refusal(403, "AccessDenied", "Only one auth mechanism is allowed.");
    }
    if (headers.get("content-length") !== String(body.length)) {
      throw new Refusal(411, "MissingContentLength", "You must provide the Content-Length header.");
    }
    this.#announced.delete(id);
    this.keep(announced.name, announced.purpose, body, null, id);
  }

  keep(
    name: string,
    purpose: string,
    content: Uint8Array,
    expiresAfter: number | null = null,
    id: string = this.#nextId(),
  ): StoredFile {
    const { maxFileBytes, maxLastingFiles } = this.#settings.limits;
    if (purpose !== (this.#settings.dialect === "together" ? "batch-api" : "batch"))
      throw new Refusal(400, "invalid_value", `'${purpose}' is not a purpose.`, { param: "purpose" });
    if (!name.endsWith(".jsonl"))
      throw new Refusal(400, "invalid_file_format", "Expected a .jsonl file.", { param: "file" });
    if (content.length === 0) throw new Refusal(400, "empty_file", "The file is empty.", { param: "file" });
    if (content.length > maxFileBytes) {
      throw new Refusal(413, "file_too_large", `The file is larger than ${maxFileBytes} bytes.`, { param: "file" });
    }
    const lasting = this.listed().filter(({ expiresAt }) => expiresAt === null).length;
    if (expiresAfter === null && lasting >= maxLastingFiles) {
      const message = `The number of files exceeds the quota, the maximum is ${maxLastingFiles}.`;
      throw new Refusal(400, "quotaExceeded", message);
    }
    const createdAt = this.#settings.now();
    const expiresAt = expiresAfter === null ? null : createdAt + expiresAfter * 1000;
    const stored = { id, name, purpose, content, createdAt, expiresAt };
    this.#files.set(id, stored);
    return stored;
  }

  #nextId(): string {
    this.#count += 1;
    return `file-${this.#settings.mark}${String(this.#count).padStart(8, "0")}`;
  }

  /** The file, or undefined if it was deleted or has expired. */
  get(id: string): StoredFile | undefined {
    const file = this.#files.get(id);
    const { fileRetentionMs } = this.#settings;
    const isKept = file === undefined || this.#settings.now() < (file.expiresAt ?? file.createdAt + fileRetentionMs);
    if (isKept) return file;
    this.#files.delete(id);
    return undefined;
  }

  isPending({ createdAt }: StoredFile): boolean {
    return this.#settings.now() < createdAt + this.#settings.filesPendingMs;
  }

  render(file: StoredFile): JsonObject {
    return renderFile(file, this.isPending(file) ? "uploaded" : "processed");
  }

  delete(id: string): boolean {
    return this.get(id) !== undefined && this.#files.delete(id);
  }

  /** Newest first. */
  listed(): StoredFile[] {
    return [...this.#files.keys()].reverse().flatMap((id) => this.get(id) ?? []);
  }
}

function renderFile(file: StoredFile, status: string): JsonObject {
  return {
    id: file.id,
    object: "file",
    bytes: file.content.length,
    created_at: Math.floor(file.createdAt / 1000),
    filename: file.name,
    purpose: file.purpose,
    status,
    ...(file.expiresAt === null ? {} : { expires_at: Math.floor(file.expiresAt / 1000) }),
  };
}

function fieldsOf(parts: readonly Part[]): Readonly<Record<string, string>> {
  const plain = parts.filter(({ fileName }) => fileName === null);
  return Object.fromEntries(plain.map(({ name, content }) => [name, Buffer.from(content).toString()]));
}

/**
 * The seconds of `expires_after` or `output_expires_after`, from an hour to 30 days; null if it is
 * absent.
 */
export function expiryOf(anchor: unknown, seconds: unknown): number | null {
  if (anchor === undefined && seconds === undefined) return null;
  const span = Number(seconds);
  if (anchor === "created_at" && Number.isInteger(span) && span >= HOUR_SECONDS && span <= LONGEST_SECONDS) return span;
  throw new Refusal(
    400,
    "invalid_value",
    "'expires_after' must have an anchor 'created_at' and 3600 to 2592000 seconds.",
  );
}

function required(name: string): Refusal {
  return new Refusal(400, "missing_required_parameter", `Missing required parameter: '${name}'.`, { param: name });
}
