// The whole of a large graph, small: each node a spot in the colour of its state. It is one canvas, however many there are.
import { useEffect, useRef } from 'react';
import type { Layout } from './layout';
import type { NodeStore } from './node_store';

const WIDTH = 220;
const HEIGHT = 130;
const STATES = ['PENDING', 'READY', 'DISPATCHED', 'RUNNING', 'COMPLETED', 'FAILED', 'SKIPPED'];

interface Props {
  layout: Layout;
  store: NodeStore;
  onGo: (x: number, y: number) => void;
}

function frameOf({ places }: Layout) {
  let [width, height] = [1, 1];
  for (const place of places.values()) {
    width = Math.max(width, place.x + place.width);
    height = Math.max(height, place.y + place.height);
  }
  return { width, height };
}

function colours(canvas: HTMLCanvasElement): Map<string, string> {
  const style = getComputedStyle(canvas);
  const probe = document.createElement('i');
  canvas.after(probe);
  const found = STATES.map((state) => {
    probe.style.color = `var(--${state.toLowerCase()})`;
    return [state, getComputedStyle(probe).color] as const;
  });
  probe.remove();
  return new Map([...found, ['', style.color]]);
}

export function Overview({ layout, store, onGo }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const box = canvas.current;
    const pen = box?.getContext('2d');
    if (!box || !pen) return;
    const { width, height } = frameOf(layout);
    const ratio = devicePixelRatio;
    box.width = WIDTH * ratio;
    box.height = HEIGHT * ratio;
    const [across, down] = [box.width / width, box.height / height];
    let waits = 0;
    const draw = () => {
      waits = 0;
      const paint = colours(box);
      pen.clearRect(0, 0, box.width, box.height);
      for (const [id, place] of layout.places) {
        pen.fillStyle = paint.get(store.get(id).state?.status ?? 'PENDING') ?? '';
        pen.fillRect(place.x * across, place.y * down, Math.max(ratio, place.width * across - 1), Math.max(ratio, place.height * down - 1));
      }
    };
    const soon = () => {
      waits ||= requestAnimationFrame(draw);
    };
    draw();
    const stop = store.watchAny(soon);
    return () => {
      stop();
      cancelAnimationFrame(waits);
    };
  }, [layout, store]);
  const go = (event: React.MouseEvent<HTMLCanvasElement>) => {
    const { left, top } = event.currentTarget.getBoundingClientRect();
    const { width, height } = frameOf(layout);
    onGo(((event.clientX - left) / WIDTH) * width, ((event.clientY - top) / HEIGHT) * height);
  };
  return <canvas ref={canvas} className="overview" role="img" aria-label="The whole graph, small" style={{ width: WIDTH, height: HEIGHT }} onClick={go} />;
}
