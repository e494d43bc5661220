// The AbortSignal of one call of the handler, made when the handler first reads it, for most handlers never do.

export class BatchSignal {
  #controller: AbortController | null = null;
  isAborted = false;
  #reason: unknown;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.isAborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** The first reason stays. */
  abort(reason: unknown): void {
    if (this.isAborted) return;
    this.isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
