// Runs an action on an existing store, with a dispatcher that calls no provider, and closes both.

import { type Account, createDispatcher, type Dispatcher, type Store } from "batchwise/dispatch";
import { wordsOf } from "./failures.ts";
import { standIns } from "./stand-ins.ts";
import { openStore } from "./stores.ts";
import { warn } from "./terminal.ts";

const RISKS: ReadonlySet<unknown> = new Set(["STORE_AT_RISK", "STORE_EVICTS"]);

export interface Opened {
  readonly store: Store;
  readonly dispatcher: Dispatcher;
  readonly name: string;
}

export async function withStoreOf<Result>(
  url: string,
  action: (opened: Opened) => Promise<Result>,
  accountsOf: (store: Store) => Account[] | Promise<Account[]> = standIns,
): Promise<Result> {
  const { store, name, close } = await openStore(url, { create: false });
  try {
    const accounts = await accountsOf(store);
    const onError = (error: unknown): void => {
      // `jobs doctor` and `run` report wrong settings of a server.
      if (RISKS.has((error as { readonly code?: unknown }).code)) return;
      warn(`batchwise: ${wordsOf(error)}`);
    };
    const dispatcher = createDispatcher({ store, accounts, onError });
    try {
      return await action({ store, dispatcher, name });
    } finally {
      await dispatcher.stop();
    }
  } finally {
    await close();
  }
}
