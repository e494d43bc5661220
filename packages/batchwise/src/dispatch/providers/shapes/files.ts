// Files at a provider, in answers that trust no type. Pure.

import { notJson } from "./sdk/not-json.ts";
import { objectOf, text } from "./sdk/sdk-error.ts";

/** The id in the answer of an upload. Throws for an answer without one. */
export function fileIdOf(answer: unknown, field: "id" | "name" = "id"): string {
  const fileId = text(objectOf(answer)[field]);
  if (fileId !== null) return fileId;
  const page = notJson("the upload with a file id", answer);
  throw page ?? new Error("The provider answered the upload without a file id.");
}

/** The files of a page's rows; rows without an id and a name are of no batch of ours. */
export function* filesIn(
  rows: unknown,
  idField = "id",
  nameField = "filename",
): Generator<{ readonly fileId: string; readonly fileName: string }> {
  for (const row of Array.isArray(rows) ? rows : []) {
    const { [idField]: fileId, [nameField]: fileName } = objectOf(row);
    if (typeof fileId === "string" && typeof fileName === "string") yield { fileId, fileName };
  }
}
