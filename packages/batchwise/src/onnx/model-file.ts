// Refuses files that are not models before the runtime reads them, because the runtime mostly says
// only that "parsing failed". The errors say how to get a correct file.

import { open } from "node:fs/promises";

const LFS_POINTER = "version https://git-lfs.github.com/spec/";

/** Also throws if the file cannot be read. */
export async function checkModelFile(path: string): Promise<void> {
  const start = await startOf(path, LFS_POINTER.length);
  if (start === "") throw new Error("the file is empty. Was it copied to its end?");
  if (start !== LFS_POINTER) return;
  throw new Error("the file is a pointer of Git LFS and not the model itself. Fetch that with: git lfs pull");
}

async function startOf(path: string, length: number): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(length) });
    return buffer.toString("latin1", 0, bytesRead);
  } finally {
    await file.close();
  }
}
