// Something that is asked for whenever there is news: soon, one at a time, and the more seldom the longer it takes.

const SOON = 20;
/** It rests for so many times as long as it took. */
const REST = 3;
const LONGEST_REST = 2000;

export interface Pace {
  /** There is news. */
  ring: () => void;
  stop: () => void;
}

export function paced(look: () => Promise<void>): Pace {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let [isLooking, hasRung, isOver, notBefore] = [false, false, false, 0];
  const run = async () => {
    timer = undefined;
    [isLooking, hasRung] = [true, false];
    const began = performance.now();
    await look();
    const now = performance.now();
    notBefore = now + Math.min(LONGEST_REST, REST * (now - began));
    isLooking = false;
    if (hasRung) ring();
  };
  const ring = () => {
    hasRung = true;
    if (isOver || isLooking || timer !== undefined) return;
    timer = setTimeout(run, Math.max(SOON, notBefore - performance.now()));
  };
  return {
    ring,
    stop: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
