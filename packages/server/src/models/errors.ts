/** The errors of hosting a model; told apart by `code`, so that the HTTP layer can answer each in its own way. */

export type ModelErrorCode =
  /** The file cannot be loaded. */
  | "MODEL_LOAD"
  /** The model refused or failed on a batch; it would again. */
  | "MODEL_FAILED"
  /** The model gave a vector with NaN or an infinite number in it; it would again. */
  | "MODEL_NOT_FINITE"
  /** The thread died; another takes its place. */
  | "MODEL_THREAD_ENDED"
  | "MODEL_CLOSED";

export class ModelError extends Error {
  readonly code: ModelErrorCode;

  constructor(code: ModelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ModelError";
    this.code = code;
  }
}
