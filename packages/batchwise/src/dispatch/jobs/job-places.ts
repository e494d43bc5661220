// Finds the request of a job that an outcome belongs to. Keeps the caller's array and the places of
// its ids; nothing for an iterable.

import type { JobRequest } from "../contract/jobs.ts";

export class JobPlaces<Request extends JobRequest> {
  readonly #prefix: string;
  /** null if an iterable gave them. */
  readonly #requests: readonly Request[] | null;
  /** Places of the callers' ids; of a repeated id, the first. */
  readonly #byId: Map<string, number> = new Map();

  constructor(job: string, requests: Iterable<Request> | AsyncIterable<Request>) {
    this.#prefix = `${job}:`;
    this.#requests = Array.isArray(requests) ? (requests as readonly Request[]) : null;
    for (const [index, request] of (this.#requests ?? []).entries()) {
      const id = idOf(request);
      if (id !== undefined && !this.#byId.has(id)) this.#byId.set(id, index);
    }
  }

  placeOf(id: string): { readonly index: number | null; readonly request: Request | null } {
    const index = this.#byId.get(id) ?? this.#indexIn(id);
    if (this.#requests === null || index === null) return { index, request: null };
    const request = this.#requests[index];
    const isIts = request !== undefined && (idOf(request) === undefined || this.#byId.get(id) === index);
    return isIts ? { index, request } : { index: null, request: null };
  }

  /** The index in a generated id, which consists of the job's name and the index. */
  #indexIn(id: string): number | null {
    if (!id.startsWith(this.#prefix)) return null;
    const digits = id.slice(this.#prefix.length);
    return /^(0|[1-9]\d{0,14})$/.test(digits) ? Number(digits) : null;
  }
}

function idOf(request: JobRequest): string | undefined {
  // A value that is no object is refused later.
  if (typeof request !== "object" || request === null) return undefined;
  return "custom_id" in request ? request.custom_id : request.id;
}
