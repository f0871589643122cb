// Every screen by its address. Those that are not the first are fetched when they are wanted.

import { type ComponentType, lazy } from "react";
import { Inbox } from "./inbox/Inbox";

export const screens: { path: string; Screen: ComponentType }[] = [{ path: "/", Screen: Inbox }];

export const later = lazy;
