// Rings whenever the agent or command of a task has said something. What it said is read where it is kept: so nothing is
// missed or told twice, however often the connection is lost.

import { useEffect, useRef } from "react";
import { address } from "../api/http";

const FIRST_WAIT = 250;
const LONGEST_WAIT = 4000;
/** Should a ring be lost, it is looked anyway. */
const SELDOM = 5000;

interface Told {
  type: string;
  task_id?: string;
}

/** Listens while `atWork`; `since` is the number of an event that is known, so that none is told again. */
export function useOutput(run: string, task: string, atWork: boolean, since: number, ring: () => void): void {
  const latest = useRef({ since, ring });
  latest.current = { since, ring };
  useEffect(() => {
    if (!atWork) return;
    let socket: WebSocket | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let [wait, isOver] = [FIRST_WAIT, false];
    const connect = () => {
      const scheme = location.protocol === "https:" ? "wss" : "ws";
      const path = address("/api/runs/{run}/ws", { run, output: true, task, since: latest.current.since });
      socket = new WebSocket(`${scheme}://${location.host}${path}`);
      socket.onopen = () => {
        wait = FIRST_WAIT;
        latest.current.ring();
      };
      socket.onmessage = (message) => {
        const told = JSON.parse(String(message.data)) as Told[];
        if (told.some((one) => one.type === "agent_output")) latest.current.ring();
      };
      socket.onclose = () => {
        if (isOver) return;
        timer = setTimeout(connect, wait);
        wait = Math.min(wait * 2, LONGEST_WAIT);
      };
    };
    connect();
    const ticking = setInterval(() => latest.current.ring(), SELDOM);
    return () => {
      isOver = true;
      clearTimeout(timer);
      clearInterval(ticking);
      socket?.close();
      // What it said last.
      latest.current.ring();
    };
  }, [run, task, atWork]);
}
