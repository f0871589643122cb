// Every screen by its address. Those that are not the first are fetched when they are wanted.

import { type ComponentType, lazy } from "react";
import { Inbox } from "./inbox/Inbox";

const Graph = lazy(async () => ({ default: (await import("./run/graph/Graph")).Graph }));
const Timeline = lazy(async () => ({ default: (await import("./run/timeline/Timeline")).Timeline }));
const Task = lazy(() => import("./task/Task"));
const Review = lazy(() => import("./review/Review"));
const Conflict = lazy(() => import("./conflicts/Conflict"));
const Projects = lazy(() => import("./board/Projects").then((file) => ({ default: file.Projects })));
const Board = lazy(() => import("./board/Board").then((file) => ({ default: file.Board })));
const Expertise = lazy(() => import("./expertise/Expertise").then((file) => ({ default: file.Expertise })));
const Costs = lazy(() => import("./costs/Costs").then((file) => ({ default: file.Costs })));
const Settings = lazy(() => import("./settings/Settings").then((file) => ({ default: file.Settings })));
const NewRun = lazy(() => import("./newrun/NewRun").then((file) => ({ default: file.NewRun })));
const Agents = lazy(() => import("./agents/Agents").then((file) => ({ default: file.Agents })));

export const screens: { path: string; Screen: ComponentType }[] = [
  { path: "/", Screen: Inbox },
  { path: "/projects", Screen: Projects },
  { path: "/projects/:project", Screen: Board },
  { path: "/projects/:project/expertise", Screen: Expertise },
  { path: "/runs/:run/tasks/:task/:tab?", Screen: Task },
  { path: "/runs/:run/review/:task?", Screen: Review },
  { path: "/runs/:run/conflicts/:task", Screen: Conflict },
  { path: "/runs/:run/graph", Screen: Graph },
  { path: "/runs/:run/timeline", Screen: Timeline },
  { path: "/runs", Screen: lazy(async () => ({ default: (await import("./runs/Runs")).Runs })) },
  { path: "/runs/compare/:a/:b", Screen: lazy(async () => ({ default: (await import("./runs/Compare")).Compare })) },
  { path: "/runs/:run", Screen: lazy(async () => ({ default: (await import("./run/RunTasks")).RunTasks })) },
  { path: "/runs/:run/board", Screen: lazy(async () => ({ default: (await import("./run/RunBoard")).RunBoard })) },
  { path: "/runs/:run/cost", Screen: lazy(async () => ({ default: (await import("./run/RunCost")).RunCost })) },
  { path: "/runs/:run/events", Screen: lazy(async () => ({ default: (await import("./run/RunEvents")).RunEvents })) },
  { path: "/costs", Screen: Costs },
  { path: "/agents", Screen: Agents },
  { path: "/new", Screen: NewRun },
  { path: "/new/:project", Screen: NewRun },
  { path: "/settings", Screen: Settings },
  { path: "/settings/:tab", Screen: Settings },
];
