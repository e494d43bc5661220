// Shows the progress of a run on standard error: on a terminal one line with a bar, drawn again
// each second; otherwise one line every ten seconds, if something has changed.

import { redraw, warn } from "../common/terminal.ts";

const BAR_WIDTH = 20;
const BETWEEN = " · ";
const DRAW_MS = 1_000;
const PRINT_MS = 10_000;
/** Width of a terminal that does not report it. */
const COLUMNS = 80;

export interface ProgressView {
  /** 0 to 1. */
  readonly share: number;
  /** Most important first: a narrow terminal shows fewer of them. */
  readonly parts: readonly string[];
}

export class Progress {
  readonly #out: NodeJS.WriteStream = process.stderr;
  readonly #view: () => Promise<ProgressView | null>;
  readonly #timer: NodeJS.Timeout;
  #last = "";
  #drawing: Promise<void> = Promise.resolve();

  /** If `view` returns null, nothing is drawn. */
  constructor(view: () => Promise<ProgressView | null>) {
    this.#view = view;
    this.#timer = setInterval(() => this.#drawNext(), this.#out.isTTY ? DRAW_MS : PRINT_MS);
    this.#drawNext();
  }

  /** Prints a line above the bar. */
  say(text: string): void {
    if (this.#out.isTTY) redraw("");
    warn(text);
    this.#last = "";
  }

  /** Draws once more and ends the line. */
  async end(): Promise<void> {
    clearInterval(this.#timer);
    this.#drawNext();
    await this.#drawing;
    if (this.#out.isTTY && this.#last !== "") warn("");
  }

  #drawNext(): void {
    this.#drawing = this.#drawing.then(() => this.#draw());
  }

  async #draw(): Promise<void> {
    // A store that does not answer is called again next time.
    const view = await this.#view().catch(() => null);
    if (view === null) return;
    const line = this.#out.isTTY ? barLine(view, (this.#out.columns || COLUMNS) - 1) : view.parts.join(BETWEEN);
    if (this.#out.isTTY) redraw(line);
    else if (line !== this.#last) warn(line);
    this.#last = line;
  }
}

/** Pure. The bar and as many whole parts as fit. */
export function barLine({ share, parts }: ProgressView, width: number): string {
  const full = Math.floor(Math.min(1, Math.max(0, share)) * BAR_WIDTH);
  const pieces = [`${"█".repeat(full)}${"░".repeat(BAR_WIDTH - full)} ${parts[0] ?? ""}`];
  let length = pieces[0]?.length ?? 0;
  for (const part of parts.slice(1)) {
    length += BETWEEN.length + part.length;
    if (length > width) break;
    pieces.push(part);
  }
  return pieces.join(BETWEEN).slice(0, width);
}
