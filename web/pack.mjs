// Packs what was built, so that the server need not: each file also with brotli and gzip.

import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const packable = /\.(js|css|html|svg|json)$/;

function* files(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

let firstScreen = 0;
for (const path of [...files("dist")].filter((path) => packable.test(path))) {
  const bytes = readFileSync(path);
  const zipped = gzipSync(bytes, { level: 9 });
  writeFileSync(`${path}.gz`, zipped);
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
    }),
  );
  if (/index-.*\.js$/.test(path)) firstScreen += zipped.length;
}
console.log(`JavaScript of the first screen: ${(firstScreen / 1000).toFixed(1)} kB gzip`);
