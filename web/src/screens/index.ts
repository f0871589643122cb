// Every screen by its address. Those that are not the first are fetched when they are wanted.

import { type ComponentType, lazy } from "react";
import { Inbox } from "./inbox/Inbox";

const Graph = lazy(async () => ({ default: (await import("./run/graph/Graph")).Graph }));
const Timeline = lazy(async () => ({ default: (await import("./run/timeline/Timeline")).Timeline }));

export const screens: { path: string; Screen: ComponentType }[] = [
  { path: "/", Screen: Inbox },
  { path: "/runs/:run/graph", Screen: Graph },
  { path: "/runs/:run/timeline", Screen: Timeline },
  { path: "/runs/:run", Screen: lazy(() => import("./run/RunTasks").then((all) => ({ default: all.RunTasks }))) },
];
