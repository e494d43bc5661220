// What the terminal shows of a run, on standard error: one line with a bar that is drawn again each
// second, or, where it is no terminal, one line every ten seconds and only when something has
// changed.

import { redraw, warn } from "../common/terminal.ts";

const BAR_WIDTH = 20;
const BETWEEN = " · ";
const DRAW_MS = 1_000;
const PRINT_MS = 10_000;
/** Of a terminal that does not tell its width. */
const COLUMNS = 80;

export interface ProgressView {
  /** 0 to 1. */
  readonly share: number;
  /** The weightiest first: a narrow terminal shows fewer of them. */
  readonly parts: readonly string[];
}

export class Progress {
  readonly #out: NodeJS.WriteStream = process.stderr;
  readonly #view: () => Promise<ProgressView | null>;
  readonly #timer: NodeJS.Timeout;
  #last = "";
  #drawing: Promise<void> = Promise.resolve();

  /** Null draws nothing. */
  constructor(view: () => Promise<ProgressView | null>) {
    this.#view = view;
    this.#timer = setInterval(() => this.#drawNext(), this.#out.isTTY ? DRAW_MS : PRINT_MS);
    this.#drawNext();
  }

  /** A line of its own above the bar. */
  say(text: string): void {
    if (this.#out.isTTY) redraw("");
    warn(text);
    this.#last = "";
  }

  /** Draws once more and leaves the line there. */
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
    // A store that does not answer now is asked again next time.
    const view = await this.#view().catch(() => null);
    if (view === null) return;
    const line = this.#out.isTTY ? barLine(view, (this.#out.columns || COLUMNS) - 1) : view.parts.join(BETWEEN);
    if (this.#out.isTTY) redraw(line);
    else if (line !== this.#last) warn(line);
    this.#last = line;
  }
}

/** Pure. The bar and as many whole parts as there is room for. */
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
