// Runs the handler's `open` once before its first call, and its `close` at the end, both in the
// batcher's own async context.

import { closedError } from "../contract/errors.ts";
import type { Services } from "../submit/services.ts";

export class Opening {
  readonly #services: Services;
  #opening: Promise<void> | null = null;
  /** Rejects a pending `#opening`. */
  #giveUp: ((error: unknown) => void) | null = null;
  #isOpen = false;
  #isAbandoned = false;

  constructor(services: Services) {
    this.#services = services;
  }

  /**
   * Opens the handler once. A failure is the batch's, and the next batch tries again. Undefined if
   * there is nothing to open; else a promise, even when it is already open, so that batches keep
   * their order.
   */
  begin(): Promise<void> | undefined {
    const { open } = this.#services.stages;
    if (open === undefined) return undefined;
    this.#opening ??= new Promise((resolve, reject) => {
      this.#giveUp = reject;
      this.#open(open).then(resolve, reject);
    });
    return this.#opening;
  }

  /** Rejects a pending opening with CLOSED. If it succeeds later, the handler is closed then. */
  abandon(): void {
    this.#isAbandoned = true;
    this.#giveUp?.(closedError(this.#services.name));
  }

  /** Runs the handler's `close`, unless its `open` never succeeded or was abandoned. */
  async close(): Promise<void> {
    const { open, close } = this.#services.stages;
    if (close === undefined) return;
    await this.#opening?.catch(() => {});
    if (open === undefined || this.#isOpen) await close();
  }

  async #open(open: () => unknown): Promise<void> {
    try {
      await null;
      if (this.#isAbandoned) return;
      await open();
    } catch (error) {
      this.#opening = null;
      throw error;
    } finally {
      this.#giveUp = null;
    }
    if (this.#isAbandoned) await this.#services.stages.close?.();
    else this.#isOpen = true;
  }
}
