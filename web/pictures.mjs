// The pictures of the documentation, from the screens that tests/look.spec.ts has seen: `npm run pictures`. A screen has
// few colours, so each picture gets a palette of its own; what is still too big is refused.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const MOST = 150_000;
const COLOURS = 256;

/** Name in docs/images, and the screen it is made of. */
const PICTURES = [
  ["page-run", "run-1440-light"],
  ["page-review", "review-1440-light"],
];

function chunks(png) {
  const found = [];
  for (let at = 8; at < png.length; ) {
    const size = png.readUInt32BE(at);
    found.push([png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + size)]);
    at += size + 12;
  }
  return found;
}

const paeth = (a, b, c) => {
  const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return da <= db && da <= dc ? a : db <= dc ? b : c;
};

/** As browsers write it: eight bits for each of three or four channels, not interlaced. */
function decode(png) {
  const parts = chunks(png);
  const head = parts.find(([name]) => name === "IHDR")[1];
  const [width, height, depth, kind] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9]];
  const step = { 2: 3, 6: 4 }[kind];
  if (depth !== 8 || !step || head[12] !== 0) throw new Error(`a PNG of kind ${kind}, depth ${depth} is not read here`);
  const raw = inflateSync(Buffer.concat(parts.filter(([name]) => name === "IDAT").map(([, data]) => data)));
  const line = width * step;
  const pixels = Buffer.alloc(line * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (line + 1)];
    for (let x = 0; x < line; x += 1) {
      const left = x >= step ? pixels[y * line + x - step] : 0;
      const up = y > 0 ? pixels[(y - 1) * line + x] : 0;
      const corner = x >= step && y > 0 ? pixels[(y - 1) * line + x - step] : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      pixels[y * line + x] = raw[y * (line + 1) + 1 + x] + guess;
    }
  }
  return { width, height, step, pixels };
}

const distance = (a, b) =>
  ((a >> 16) - (b >> 16)) ** 2 + (((a >> 8) & 255) - ((b >> 8) & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;

/** One after the other, the colour by which most would be wrong without it: also a rare one that is like no other. */
function chosen(counts) {
  const left = [...counts].map(([colour, count]) => ({ colour, count, wrong: Number.POSITIVE_INFINITY }));
  const kept = [];
  while (kept.length < COLOURS && kept.length < left.length) {
    const next = left.reduce((most, one) => (one.wrong * one.count > most.wrong * most.count ? one : most));
    if (next.wrong === 0) break;
    kept.push(next.colour);
    for (const one of left) one.wrong = Math.min(one.wrong, distance(one.colour, next.colour));
  }
  return kept;
}

function palette({ width, height, step, pixels }) {
  const counts = new Map();
  const colours = new Uint32Array(width * height);
  for (let at = 0; at < colours.length; at += 1) {
    const place = at * step;
    const colour = (pixels[place] << 16) | (pixels[place + 1] << 8) | pixels[place + 2];
    colours[at] = colour;
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const kept = chosen(counts);
  const places = new Map(kept.map((colour, place) => [colour, place]));
  const nearest = (colour) =>
    kept.reduce((best, one, at) => (distance(one, colour) < distance(kept[best], colour) ? at : best), 0);
  const indices = Buffer.alloc(colours.length);
  for (let at = 0; at < colours.length; at += 1) {
    const colour = colours[at];
    if (!places.has(colour)) places.set(colour, nearest(colour));
    indices[at] = places.get(colour);
  }
  return { kept, indices };
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  size.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, sum]);
}

function encode(image) {
  const { width, height } = image;
  const { kept, indices } = palette(image);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  [head[8], head[9]] = [8, 3];
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) indices.copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width);
  return Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(kept.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]))),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

mkdirSync(join(root, "docs/images"), { recursive: true });
for (const [name, screen] of PICTURES) {
  const from = join(root, "target/page-screens", `${screen}.png`);
  if (!existsSync(from)) {
    console.error(`${from} is missing: run \`npx playwright test tests/look.spec.ts\` first`);
    process.exit(1);
  }
  const picture = encode(decode(readFileSync(from)));
  if (picture.length > MOST) {
    console.error(`docs/images/${name}.png would have ${picture.length} bytes, more than ${MOST}`);
    process.exit(1);
  }
  writeFileSync(join(root, "docs/images", `${name}.png`), picture);
  console.log(`docs/images/${name}.png: ${picture.length} bytes`);
}
