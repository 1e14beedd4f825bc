// Draw the charts of pages without a network, from the specifications in the page.
(() => {
  const { rocframe } = window, drawings = new Map();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // A dashboard has the colors of the light or the dark mode, and fits the width of the page.
  async function draw(box) {
    const text = box.querySelector("script").textContent, old = await drawings.get(box);
    const colors = JSON.parse(box.dataset.dark ?? "null"), plot = box.lastElementChild;
    const spec = JSON.parse(text.replace(/var\(--([\w-]+), (#\w+)\)/g, (_, name, color) =>
      dark.matches ? colors[name] : color));
    if (colors) {
      box.style.cssText = dark.matches
        ? `background:${colors.paper};color:${colors.ink};color-scheme:dark` : "";
      rocframe.dashboard.fit(spec, box.clientWidth);
      rocframe.dashboard.keep(spec, old?.view);
    }
    old?.finalize();
    // Sliders and lists are above the chart.
    const controls = box.querySelector(".controls") ?? document.createElement("div");
    controls.className = "controls";
    controls.style.cssText = "display:grid;gap:.3rem;margin-bottom:.75rem";
    controls.replaceChildren();
    if (JSON.stringify(spec.params ?? []).includes('"input":')) box.insertBefore(controls, plot);
    const options = {
      ...controls.isConnected && { bind: controls },
      renderer: "svg",
      actions: { export: true, source: false, compiled: false, editor: false },
    };
    return rocframe.show(box, plot, spec, options, colors && controls);
  }
  function redraw() {
    for (const box of drawings.keys()) if (box.dataset.dark) drawings.set(box, draw(box));
  }
  rocframe.draw ??= () => {
    for (const box of document.querySelectorAll(".rocframe-chart:not([data-drawn])")) {
      box.dataset.drawn = "started";
      drawings.set(box, draw(box));
    }
  };
  rocframe.draw();
  if (!rocframe.watching) {
    rocframe.watching = true;
    dark.addEventListener("change", redraw);
    let waiting, width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return; // the height of phones changes while they scroll
      width = innerWidth;
      clearTimeout(waiting);
      waiting = setTimeout(redraw, 200);
    });
  }
})();
