/** What the clients and the server of sqlite-http.ts say to one another. */

/** The body of a request. */
export interface Row {
  readonly value: number;
  readonly text: string;
}

/** The body of a response. */
export interface SavedRow {
  readonly id: number;
  readonly value: number;
}

/** The line that the clients print when their warm-up is over. */
export const MEASURING = "measuring";
