const paths = {
  brand: "M3 3v10M3 5.5c5 0 4 5 10 5M3 10.5c3 0 4-5 10-5",
  inbox: "M2 9.5 3.6 3h8.8L14 9.5V13H2Zm0 0h3.4l1 1.6h3.2l1-1.6H14",
  runs: "M2 4h7M5 8h8M3 12h6",
  board: "M2.5 2.500h3v11h-3zM6.500 2.500h3v7h-3zM10.500 2.500h3v9h-3z",
  costs: "M2 13.500h12M3.500 13V9M7 13V5.500M10.500 13V7.500M13 13V3",
  agents: "M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.01M5 11h.01",
  settings:
    "M2 4.500h6m4 0h2M2 11.500h2m4 0h6M11.800 4.500a1.800 1.800 0 1 1-3.600 0a1.800 1.800 0 0 1 3.600 0M7.800 11.500a1.800 1.800 0 1 1-3.600 0a1.800 1.800 0 0 1 3.600 0",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  search: "M11.200 7a4.200 4.200 0 1 1-8.400 0a4.200 4.200 0 0 1 8.400 0M10.200 10.200l3.300 3.300",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  close: "m4 4 8 8m0-8-8 8",
  right: "m6 3.500 4.500 4.500L6 12.500",
  down: "m3.500 6 4.500 4.500L12.500 6",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[name]} strokeWidth={name === "more" ? 2 : undefined} />
    </svg>
  );
}
