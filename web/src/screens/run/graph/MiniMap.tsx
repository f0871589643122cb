import { type PointerEvent, useEffect, useRef } from "react";
import { graphWords as text } from "../../../words/graph";
import type { Picture, View } from "./picture";

const WIDTH = 180;
const HEIGHT = 110;

/** The whole graph, and where the part lies that is shown. */
export function MiniMap({ picture, view }: { picture: Picture; view: View }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { layout } = picture;
  const scale = Math.min(WIDTH / layout.width, HEIGHT / layout.height);
  const map = picture.map;
  useEffect(() => {
    const to = canvas.current?.getContext("2d");
    if (!to) return;
    to.clearRect(0, 0, WIDTH, HEIGHT);
    if (map) to.drawImage(map, 0, 0, layout.width * scale, layout.height * scale);
  });
  const { width, height } = picture.size;
  const frame = {
    left: Math.max(0, view.x * scale),
    top: Math.max(0, view.y * scale),
    width: Math.min(WIDTH, (width / view.scale) * scale),
    height: Math.min(HEIGHT, (height / view.scale) * scale),
  };
  const isWhole = width / view.scale >= layout.width && height / view.scale >= layout.height;
  if (isWhole || !map) return null;
  const go = (event: PointerEvent<HTMLElement>) => {
    if (event.buttons !== 1) return;
    const box = event.currentTarget.getBoundingClientRect();
    picture.moveTo({
      ...view,
      x: (event.clientX - box.left) / scale - width / view.scale / 2,
      y: (event.clientY - box.top) / scale - height / view.scale / 2,
    });
  };
  return (
    <div className="mini-map" role="img" aria-label={text.map} onPointerDown={go} onPointerMove={go}>
      <canvas ref={canvas} width={WIDTH} height={HEIGHT} />
      <i style={frame} />
    </div>
  );
}
